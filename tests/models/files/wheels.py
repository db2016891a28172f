"""Small wheels, written by the tests."""

import zipfile
from pathlib import Path


def build(folder: Path, package: str, member: str, data: bytes) -> None:
    """Write a wheel of version 1.0 that pip accepts and that holds one file."""
    folder.mkdir(parents=True, exist_ok=True)
    module = package.replace("-", "_")
    path = folder / f"{module}-1.0-py3-none-any.whl"
    info = f"{module}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{module}/{member}", data)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def build_parts(folder: Path, stem: str, count: int, data: bytes) -> None:
    """Write a file as the parts of `count` wheels, the last being the shortest."""
    step = -(-len(data) // count)
    for number in range(1, count + 1):
        part = data[(number - 1) * step : number * step]
        build(folder, f"{stem}{number}", f"data/part{number:02d}.bin", part)
