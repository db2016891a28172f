"""Tiny wheels, made by hand."""

import zipfile
from pathlib import Path


def build(folder: Path, package: str, member: str, data: bytes, version: str = "1.0") -> Path:
    """Write a wheel that pip accepts and that holds one file."""
    folder.mkdir(parents=True, exist_ok=True)
    module = package.replace("-", "_")
    path = folder / f"{module}-{version}-py3-none-any.whl"
    info = f"{module}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{module}/{member}", data)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


def build_parts(folder: Path, stem: str, count: int, data: bytes) -> list[Path]:
    """Write a file as the parts of `count` wheels, the last being the shortest."""
    step = -(-len(data) // count)
    return [
        build(
            folder,
            f"{stem}{number}",
            f"data/part{number:02d}.bin",
            data[(number - 1) * step : number * step],
        )
        for number in range(1, count + 1)
    ]
