//! The classes and functions that a pickle may name.

use crate::dataset::format::array::{ElementKind, ElementType};
use crate::dataset::format::sparse::Layout;

/// The meaning of a name in a pickle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// `numpy.ndarray`, and the function that makes an empty one.
    Array,
    /// Makes an array of bytes, type, shape and order.
    ArrayOfBuffer,
    /// Makes a number of type and bytes.
    Scalar,
    ElementType,
    /// Text to bytes.
    Encode,
    Dict,
    List,
    Bytes,
    /// `object`, and what makes an object of a class the old way.
    Object,
    Reconstruct,
    Sparse(Layout),
    Tensor,
    Storage(ElementType),
}

impl Class {
    /// The class of a name, if it is one of data.
    pub fn of(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("numpy", "ndarray") => Self::Array,
            ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => Self::Array,
            ("numpy.core.numeric" | "numpy._core.numeric", "_frombuffer") => Self::ArrayOfBuffer,
            ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => Self::Scalar,
            ("numpy", "dtype") => Self::ElementType,
            ("_codecs", "encode") => Self::Encode,
            ("collections", "defaultdict" | "OrderedDict") => Self::Dict,
            ("__builtin__" | "builtins", "dict") => Self::Dict,
            ("__builtin__" | "builtins", "list" | "tuple" | "set" | "frozenset" | "int") => Self::List,
            ("__builtin__" | "builtins", "bytes" | "bytearray") => Self::Bytes,
            ("__builtin__" | "builtins", "object") => Self::Object,
            ("copy_reg" | "copyreg", "_reconstructor") => Self::Reconstruct,
            ("torch", "Size") => Self::List,
            ("torch._utils", "_rebuild_tensor_v2") => Self::Tensor,
            ("torch", storage) => Self::Storage(storage_type(storage)?),
            (module, name) => {
                let layout = name.strip_suffix("_matrix").or_else(|| name.strip_suffix("_array"))?;
                let place = module.strip_prefix("scipy.sparse.")?;
                (place.trim_start_matches('_') == layout).then(|| Layout::of(layout)).flatten().map(Self::Sparse)?
            }
        })
    }
}

fn storage_type(name: &str) -> Option<ElementType> {
    let (kind, size) = match name.strip_suffix("Storage")? {
        "Long" => (ElementKind::Signed, 8),
        "Int" => (ElementKind::Signed, 4),
        "Short" => (ElementKind::Signed, 2),
        "Char" => (ElementKind::Signed, 1),
        "Byte" => (ElementKind::Unsigned, 1),
        "Bool" => (ElementKind::Boolean, 1),
        "Double" => (ElementKind::Float, 8),
        "Float" => (ElementKind::Float, 4),
        "Half" => (ElementKind::Float, 2),
        _ => return None,
    };
    Some(ElementType { kind, size, big_endian: false })
}
