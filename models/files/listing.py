"""Which file of a repository is meant by `repo:Q4_K_M`: the hub is asked what there is."""

import httpx2
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import NetworkError, UsageError
from models.files import hub
from models.files.hub import Transient
from models.files.labels import choose, is_label
from models.files.locate import resolve
from models.files.progress import Progress, Report


def whole_name(gguf: GGUF, report: Report, cancel: CancelFlag | None) -> GGUF:
    """Return the file itself for one that is named by its quantisation, any other as it is."""
    if gguf.repo is None or not is_label(gguf.file):
        return gguf
    report(Progress(0, 0, "asking the hub"))
    try:
        names = hub.patiently(lambda: _files(gguf, str(gguf.repo)), cancel)
    except Transient as error:
        raise NetworkError(f"{error} Try again later.") from error
    revision = f"@{gguf.revision}" if gguf.revision else ""
    file = choose(gguf.repo, names, gguf.file)
    found = resolve(f"{gguf.repo}{revision}:{file}")
    return found if isinstance(found, GGUF) else gguf


def _files(gguf: GGUF, repo: str) -> list[str]:
    api = HfApi(endpoint=hub.endpoint(), token=hub.token() or False)
    try:
        return api.list_repo_files(repo, revision=gguf.revision)
    except (HFValidationError, ValueError) as error:
        raise UsageError(f"{repo} cannot be the name of a repository.") from error
    except HfHubHTTPError as error:
        raise hub.refusal(error.response.status_code, error.response.headers, gguf) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        reason = str(error) or type(error).__name__
        raise NetworkError(f"The hub ({hub.endpoint()}) cannot be reached: {reason}.") from error
