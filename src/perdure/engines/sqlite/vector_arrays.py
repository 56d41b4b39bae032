"""The arrays that vectors are compared in, as types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    Keys: TypeAlias = NDArray[np.int64]
    """A key for each vector: the row's number, then the window's."""
    Numbers: TypeAlias = NDArray[np.float32]
    """One vector, or a matrix of a vector in each row."""
