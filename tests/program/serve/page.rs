//! The page in a real browser.

use super::world::Results;
use crate::support::browser::{Browser, Look};

const DESK: Look = Look { width: 1200, height: 800, is_dark: false };
const PHONE: Look = Look { width: 390, height: 844, is_dark: true };

#[track_caller]
fn assert_quiet(browser: &Browser) {
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
}

#[test]
fn a_node_is_searched_its_neighbours_appear_and_lead_on() {
    let Some(mut browser) = Browser::start() else { return };
    let results = Results::demo();
    let server = results.serve(&[]);
    let address = format!("http://{}/", server.address);
    for (look, name) in [(DESK, "desk"), (Look { is_dark: true, ..DESK }, "desk-dark"), (PHONE, "phone")] {
        browser.open(&address, look);
        browser.until("document.querySelector('canvas').dataset.points === '4000'");
        browser.picture(&format!("serve-{name}-start.png"));
        browser.click("#search");
        browser.write("n17");
        browser.until("document.querySelectorAll('#found li').length === 12");
        browser.press("ArrowDown");
        browser.press("ArrowDown");
        browser.press("Enter");
        browser.until("document.querySelector('#name').textContent === 'n170'");
        browser.until("document.querySelectorAll('#neighbors li').length === 10");
        let found = server.found("/api/neighbors?node=n170");
        let shown = browser.evaluate("[...document.querySelectorAll('#neighbors .id')].map(one => one.textContent)");
        let expected: Vec<_> = found["neighbors"].as_array().unwrap().iter().map(|one| one["node"].clone()).collect();
        assert_eq!(shown.as_array().unwrap(), &expected);
        browser.click("[data-by=score]");
        browser.until("document.querySelector('[data-by=score]').getAttribute('aria-pressed') === 'true'");
        let likeliest = server.found("/api/neighbors?node=n170&by=score")["neighbors"][0]["node"].clone();
        browser.until(&format!("document.querySelector('#neighbors .id').textContent === {likeliest}"));
        browser.picture(&format!("serve-{name}-links.png"));
        browser.click("#neighbors button");
        browser.until(&format!("document.querySelector('#name').textContent === {likeliest}"));
        browser.evaluate("history.back()");
        browser.until("document.querySelector('#name').textContent === 'n170'");
        let is_wide = browser.evaluate("document.documentElement.scrollWidth > innerWidth");
        assert_eq!(is_wide, false, "nothing is wider than the window");
        let pixels = browser.evaluate(
            "(() => { const canvas = document.querySelector('canvas'); const { data } = canvas.getContext('2d')\
             .getImageData(0, 0, canvas.width, canvas.height); return data.filter((value, n) => n % 4 == 3 && value > 0).length; })()",
        );
        assert!(pixels.as_u64().unwrap() > 1000, "the map has points: {pixels}");
        assert_quiet(&browser);
    }
    let background = |browser: &mut Browser| browser.evaluate("getComputedStyle(document.body).backgroundColor");
    browser.open(&address, DESK);
    let light = background(&mut browser);
    browser.open(&address, Look { is_dark: true, ..DESK });
    assert_ne!(background(&mut browser), light);
    // An unknown node is reported with the most similar id. The browser logs the status 404, which
    // is expected.
    browser.open(&format!("{address}#node=17"), DESK);
    browser.until("document.querySelector('#message').textContent.includes('did you mean `n17`')");
}

#[test]
fn names_and_classes_are_shown_as_they_are() {
    let Some(mut browser) = Browser::start() else { return };
    let odd = ["<b>bold</b>", "a&b=c#d", "New York", "☃ \"quoted\"", "50%"];
    let results = Results::made_up(3, &odd);
    let server = results.serve(&[]);
    browser.open(&format!("http://{}/", server.address), DESK);
    browser.until("document.querySelector('canvas').dataset.points === '5'");
    browser.click("#search");
    browser.write("a&b");
    browser.until("document.querySelectorAll('#found li').length === 1");
    browser.press("Enter");
    browser.until("document.querySelector('#name').textContent === 'a&b=c#d'");
    browser.until("document.querySelectorAll('#neighbors li').length === 4");
    let shown = browser.evaluate("[...document.querySelectorAll('#neighbors .id')].map(one => one.textContent).sort()");
    assert_eq!(shown, serde_json::json!(["50%", "<b>bold</b>", "New York", "☃ \"quoted\""]));
    assert_eq!(browser.evaluate("document.querySelectorAll('b').length"), 0);
    assert_quiet(&browser);

    let results = Results::classified(&["--set=features.embedding=true", "--set=embedding.rank=4"]);
    let server = results.serve(&[]);
    browser.open(&format!("http://{}/#node=4", server.address), DESK);
    browser.until("document.querySelector('canvas').dataset.points === '60'");
    browser.until("/(cats|<dogs>) [0-9.]+ %/.test(document.querySelector('#classes').textContent)");
    assert_eq!(browser.evaluate("document.querySelectorAll('#legend li').length"), 2);
    browser.picture("serve-classes.png");
    assert_quiet(&browser);

    // A classifier without vectors has no neighbours, and nothing at all has no map.
    let results = Results::classified(&[]);
    let server = results.serve(&[]);
    browser.open(&format!("http://{}/#node=4", server.address), DESK);
    browser.until("document.querySelector('#classes').textContent !== ''");
    assert_eq!(browser.evaluate("document.querySelector('#near').hidden"), true);
    let results = Results::made_up(3, &[]);
    let server = results.serve(&[]);
    browser.open(&format!("http://{}/", server.address), DESK);
    browser.until("document.querySelector('#about').textContent.startsWith('0 nodes')");
    browser.until("document.querySelector('#map').hidden");
    assert_quiet(&browser);
}
