"""What scikit-learn is told of a transformer of counts."""

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin


class CountTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Takes counts, dense or sparse, and gives numbers of a type of its own."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        return tags
