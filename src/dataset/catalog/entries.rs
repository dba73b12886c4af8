//! Every dataset of the catalog.

use super::{Counts, Entry, File, Layout, Package, Task};

const ASYMPROJ: &str = "https://raw.githubusercontent.com/samihaija/isvd/main/datasets/asymproj/";
const PLANETOID: &str = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/";
const OGB_LINKS: &str = "http://snap.stanford.edu/ogb/data/linkproppred/";
const OGB_NODES: &str = "http://snap.stanford.edu/ogb/data/nodeproppred/";

/// The nine datasets of the paper, in its order.
pub const ENTRIES: &[Entry] = &[PPI, FACEBOOK, ASTROPH, HEPTH, CORA, CITESEER, PUBMED, ARXIV, DDI];

/// Nothing but a graph.
const fn graph(nodes: usize, edges: usize) -> Counts {
    Counts {
        nodes,
        edges,
        features: None,
        classes: None,
        train: None,
        valid: None,
        test: None,
        valid_non_edges: None,
        test_non_edges: None,
    }
}

/// Half of the edges are held out, against as many pairs that are no edges.
const fn halved(nodes: usize, train: usize, test: usize) -> Counts {
    Counts { train: Some(train), test: Some(test), test_non_edges: Some(test), ..graph(nodes, train + test) }
}

/// Articles with features and classes, and the distinct edges between different articles; 20 of
/// each class are for training, then 500 for choosing settings.
const fn citations(nodes: usize, edges: usize, features: usize, classes: usize) -> Counts {
    Counts {
        features: Some(features),
        classes: Some(classes),
        train: Some(20 * classes),
        valid: Some(500),
        test: Some(1_000),
        ..graph(nodes, edges)
    }
}

const PPI: Entry = Entry {
    name: "ppi",
    about: "proteins and their interactions",
    task: Task::LinkPrediction,
    source: ASYMPROJ,
    folder: "asymproj/ppi",
    layout: Layout::Asymproj,
    package: Package::Loose { below: "ppi/" },
    files: &[
        File::known("train.txt.npy", 154_872, "aee462b56eecac8b5d7495846bc5a9fedf7a38cd138926af501785ab4e81abc0"),
        File::known("test.txt.npy", 154_928, "78ae8f049cf1eb75136463efc9a1704af331dd397d36776c077ddbcc9db1c7f1"),
        File::known("test.neg.txt.npy", 154_928, "3cf50938e37000e3a4323fffa2bb68e69690e65bf730e5a62386e8aae0746c8f"),
    ],
    counts: halved(3_852, 19_349, 19_356),
    note: Some("the paper's table says 20,881 edges; its files hold 38,705"),
};

const FACEBOOK: Entry = Entry {
    name: "facebook",
    about: "users and their friendships",
    task: Task::LinkPrediction,
    source: ASYMPROJ,
    folder: "asymproj/soc-facebook",
    layout: Layout::Asymproj,
    package: Package::Loose { below: "soc-facebook/" },
    files: &[
        File::known("train.txt.npy", 352_984, "1c9297c16073816856cda040d52cedfe2cc606e8d8d913ee8174f2205ebc2beb"),
        File::known("test.txt.npy", 353_048, "c20bdf018b64e1e23c782e1088357ec19a0cc2e36647b810ce921ee3b6bb5615"),
        File::known("test.neg.txt.npy", 353_048, "4ca450b91c00ac33ec1d911a3fd949bb9e9b878139f321c2f14d40c153b4ccaf"),
    ],
    counts: halved(4_039, 44_113, 44_121),
    note: None,
};

const ASTROPH: Entry = Entry {
    name: "astroph",
    about: "researchers in astrophysics and who wrote with whom",
    task: Task::LinkPrediction,
    source: ASYMPROJ,
    folder: "asymproj/ca-AstroPh",
    layout: Layout::Asymproj,
    package: Package::Loose { below: "ca-AstroPh/" },
    files: &[File::unknown("train.txt.npy"), File::unknown("test.txt.npy"), File::unknown("test.neg.txt.npy")],
    counts: graph(17_903, 197_031),
    note: None,
};

const HEPTH: Entry = Entry {
    name: "hepth",
    about: "researchers in high-energy physics and who wrote with whom",
    task: Task::LinkPrediction,
    source: ASYMPROJ,
    folder: "asymproj/ca-HepTh",
    layout: Layout::Asymproj,
    package: Package::Loose { below: "ca-HepTh/" },
    files: &[
        File::known("train.txt.npy", 106_720, "af21f2b3ef76344634a4426c91cddf83605a7d5de25ed3f2feba9070ab352bc8"),
        File::known("test.txt.npy", 92_048, "e7fec84c082df60400a589bc22b5362ee854a79783f13af3eade14537c8d4e8c"),
        File::known("test.neg.txt.npy", 92_048, "c465de701a5f36b1aab87743d790306c4e5aee467b2af07b12de369869a8c6c2"),
    ],
    counts: halved(8_638, 13_330, 11_496),
    note: Some("the paper's table says 24,827 edges, one more than its files hold"),
};

const CORA: Entry = Entry {
    name: "cora",
    about: "articles on machine learning and their citations",
    task: Task::NodeClassification,
    source: PLANETOID,
    folder: "planetoid",
    layout: Layout::Planetoid,
    package: Package::Loose { below: "" },
    files: &[
        File::known("ind.cora.x", 22_119, "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab"),
        File::known("ind.cora.y", 4_054, "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1"),
        File::known("ind.cora.tx", 148_025, "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a"),
        File::known("ind.cora.ty", 28_135, "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad"),
        File::known("ind.cora.allx", 257_305, "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543"),
        File::known("ind.cora.ally", 47_959, "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71"),
        File::known("ind.cora.graph", 59_847, "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d"),
        File::known("ind.cora.test.index", 5_000, "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875"),
    ],
    counts: citations(2_708, 5_278, 1_433, 7),
    note: None,
};

const CITESEER: Entry = Entry {
    name: "citeseer",
    about: "articles on computer science and their citations",
    task: Task::NodeClassification,
    source: PLANETOID,
    folder: "planetoid",
    layout: Layout::Planetoid,
    package: Package::Loose { below: "" },
    files: &[
        File::unknown("ind.citeseer.x"),
        File::unknown("ind.citeseer.y"),
        File::unknown("ind.citeseer.tx"),
        File::unknown("ind.citeseer.ty"),
        File::unknown("ind.citeseer.allx"),
        File::unknown("ind.citeseer.ally"),
        File::unknown("ind.citeseer.graph"),
        File::unknown("ind.citeseer.test.index"),
    ],
    counts: citations(3_327, 4_552, 3_703, 6),
    note: Some("some test articles are isolated and have no features"),
};

const PUBMED: Entry = Entry {
    name: "pubmed",
    about: "articles on diabetes and their citations",
    task: Task::NodeClassification,
    source: PLANETOID,
    folder: "planetoid",
    layout: Layout::Planetoid,
    package: Package::Loose { below: "" },
    files: &[
        File::known("ind.pubmed.x", 23_172, "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33"),
        File::known("ind.pubmed.y", 854, "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3"),
        File::known("ind.pubmed.tx", 405_505, "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d"),
        File::known("ind.pubmed.ty", 12_135, "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd"),
        File::known("ind.pubmed.allx", 7_578_385, "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e"),
        File::known("ind.pubmed.ally", 224_739, "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e"),
        File::known("ind.pubmed.graph", 471_808, "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9"),
        File::known("ind.pubmed.test.index", 6_000, "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5"),
    ],
    counts: citations(19_717, 44_324, 500, 3),
    note: None,
};

const ARXIV: Entry = Entry {
    name: "ogbn-arxiv",
    about: "papers on computer science and their citations",
    task: Task::NodeClassification,
    source: OGB_NODES,
    folder: "ogbn_arxiv",
    layout: Layout::Ogb,
    package: Package::Zip { archive: File::unknown("arxiv.zip"), root: "arxiv" },
    // Copies of the edges are about in more than one order, all of them the same graph: no sum is
    // asked of them.
    files: &[
        File::unknown("raw/edge.csv.gz"),
        File::unknown("raw/node-feat.csv.gz"),
        File::known(
            "raw/node-label.csv.gz",
            123_505,
            "b06e7cf75d909de66ce49bc4188a6dc525224f85dd6dcb36137de3d9321830d1",
        ),
        File::unknown("raw/num-node-list.csv.gz"),
        File::unknown("raw/num-edge-list.csv.gz").optional(),
        File::known("raw/node_year.csv.gz", 73_612, "fb97e19d6003deb09197f6df6b10ea1ab86ee49d98885836c3c857ab58d897f3")
            .optional(),
        File::known(
            "split/time/train.csv.gz",
            211_044,
            "84983391900af45194e5db8d977ec9e01d4eda96e20328f3d7575fdd45c6797c",
        ),
        File::known(
            "split/time/valid.csv.gz",
            66_916,
            "ebe6cdcd77c75eedbce2064a05a49bc28e2c4a631f49d66b9e9ff317eef993eb",
        ),
        File::known(
            "split/time/test.csv.gz",
            113_234,
            "588fb66ce57bcaef51ac0235f0a49a056370ac31fc27c8ebf556d3f5cdd02545",
        ),
    ],
    counts: Counts {
        features: Some(128),
        classes: Some(40),
        train: Some(90_941),
        valid: Some(29_799),
        test: Some(48_603),
        ..graph(169_343, 1_166_243)
    },
    note: None,
};

const DDI: Entry = Entry {
    name: "ogbl-ddi",
    about: "drugs and their interactions",
    task: Task::LinkPrediction,
    source: OGB_LINKS,
    folder: "ogbl_ddi",
    layout: Layout::Ogb,
    package: Package::Zip { archive: File::unknown("ddi.zip"), root: "ddi" },
    files: &[
        File::known("raw/edge.csv.gz", 2_810_105, "b2c585f425f49b640ee5a3b451069124651ee0f2863a5b6ee6737a6b14c27a6e"),
        File::known("raw/num-node-list.csv.gz", 49, "8462870f1b8c5937c66600aeb460af98d4f9965639fcd30f72f97da95ab374e3"),
        File::known("raw/num-edge-list.csv.gz", 52, "52d2f0c08beb8817e8b42a95b5f110fd90028bd34fa6acef284847377d764d8a")
            .optional(),
        File::unknown("split/target/train.pt").optional(),
        File::known(
            "split/target/valid.pt",
            3_998_900,
            "4a48348f01fad0980a5be269fff7ace300e963144eef22d5ec4fc9830df872ac",
        ),
        File::known(
            "split/target/test.pt",
            3_888_772,
            "b45cfcf1695babf5a13e90bdf08988be23570ca76af0737f9d517e005ea7e297",
        ),
        File::known(
            "mapping/nodeidx2drugid.csv.gz",
            20_899,
            "06eca54dc8f24f112a307a435ed948a3dc6255185a133f4b64ff1ccb8e22caf0",
        )
        .optional(),
    ],
    counts: Counts {
        train: Some(1_067_911),
        valid: Some(133_489),
        test: Some(133_489),
        valid_non_edges: Some(101_882),
        test_non_edges: Some(95_599),
        ..graph(4_267, 1_334_889)
    },
    note: None,
};
