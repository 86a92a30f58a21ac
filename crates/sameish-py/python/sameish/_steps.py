"""The compiled steps over Arrow tables: settings, and objects that are created once per process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ._errors import SettingError
from ._sameish import _config_toml, _Steps

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Plan", "imported", "plan", "steps"]


class Plan(NamedTuple):
    """Settings as every process needs them."""

    config: str
    # Whether copies have equal bytes, as in `dedup`, or equal normalized texts.
    verbatim: bool

    @property
    def facts(self) -> dict[str, Any]:
        """Properties of the settings: expected recall, threshold, linkage, scheme."""
        return dict(steps(self).describe())


def plan(
    task: Literal["dedup", "pairs", "cluster"],
    preset: str = "copies",
    config: str | Mapping[str, Any] | None = None,
    **settings: Any,
) -> Plan:
    """Validates settings."""
    if task not in ("dedup", "pairs", "cluster"):
        raise SettingError(f"`task` is `{task}`: must be `dedup`, `pairs` or `cluster`")
    given = {name: value for name, value in settings.items() if value is not None}
    return Plan(_config_toml(preset, config, given, task == "dedup"), task == "dedup")


@lru_cache(maxsize=16)
def steps(plan: Plan) -> _Steps:
    """Returns the compiled steps of settings. A worker process creates them once."""
    return _Steps(plan.config, plan.verbatim)


def imported(columns: Any) -> pa.RecordBatch:
    """Converts the result of a compiled step to pyarrow, without a copy."""
    import pyarrow as pa

    return pa.record_batch(columns)
