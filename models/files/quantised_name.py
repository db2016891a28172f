"""Which file of a repository is meant by `repo:Q4_K_M`: the hub is asked what there is."""

from models.cancel import CancelFlag
from models.catalog import GGUF
from models.files.labels import choose, is_label
from models.files.locate import resolve
from models.files.progress import Progress, Report
from models.files.repository import describe


def whole_name(gguf: GGUF, report: Report, cancel: CancelFlag | None) -> GGUF:
    """Return the file itself for one that is named by its quantisation, any other as it is."""
    if gguf.repo is None or not is_label(gguf.file):
        return gguf
    report(Progress(0, 0, "asking the hub"))
    revision = f"@{gguf.revision}" if gguf.revision else ""
    file = choose(gguf.repo, describe(gguf, gguf.repo, cancel).files, gguf.file)
    found = resolve(f"{gguf.repo}{revision}:{file}")
    return found if isinstance(found, GGUF) else gguf
