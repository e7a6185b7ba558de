"""The tables of a run directory, which are Parquet files, for libraries that read those.

A table gives its rows by the Arrow C stream interface (``__arrow_c_stream__``), in batches, so that polars, pandas,
DuckDB and PyArrow take them without a copy, and ten million rows never lie in memory at once unless the reader
collects them. PyArrow decodes the file; without it `Table.to_polars` reads with polars alone.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Sequence

from .errors import FarfieldError

#: Rows of a batch.
BATCH_ROWS = 1 << 16


def _library(name: str, what: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise FarfieldError(
            f"{what} needs {name}, which cannot be imported ({error}): pip install {name.partition('.')[0]}"
        ) from error


class Table(os.PathLike[str]):
    """A Parquet file of a run directory."""

    def __init__(self, path: Path) -> None:
        #: The file.
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Table({str(self.path)!r})"

    def __len__(self) -> int:
        """Return the number of rows, from the end of the file."""
        return int(self._parquet().metadata.num_rows)

    def __bool__(self) -> bool:
        return True

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._parquet().schema_arrow.names)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the rows as a capsule of the Arrow C stream interface."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def reader(self, columns: Sequence[str] | None = None) -> Any:
        """Return a `pyarrow.RecordBatchReader` of these columns; of all if None."""
        arrow = _library("pyarrow", f"reading {self.path.name}")
        parquet = self._parquet()
        schema = parquet.schema_arrow
        if columns is not None:
            schema = arrow.schema([schema.field(name) for name in columns])
        batches = parquet.iter_batches(batch_size=BATCH_ROWS, columns=None if columns is None else list(columns))
        return arrow.RecordBatchReader.from_batches(schema, batches)

    def to_arrow(self, columns: Sequence[str] | None = None) -> Any:
        """Return a `pyarrow.Table`."""
        return self.reader(columns).read_all()

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """Return a `pandas.DataFrame`."""
        _library("pandas", "a DataFrame")
        return self.to_arrow(columns).to_pandas()

    def to_polars(self, columns: Sequence[str] | None = None) -> Any:
        """Return a `polars.DataFrame`, read by polars itself."""
        self._exists()
        polars = _library("polars", "a DataFrame of polars")
        return polars.read_parquet(str(self.path), columns=None if columns is None else list(columns))

    def _exists(self) -> None:
        if not self.path.is_file():
            raise FarfieldError(
                f"{self.path} is not there: the run has kept no such rows (`output.samples`, `monitor`), or was killed"
            )

    def _parquet(self) -> Any:
        self._exists()
        return _library("pyarrow.parquet", f"reading {self.path.name}").ParquetFile(str(self.path))
