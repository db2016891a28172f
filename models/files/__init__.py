"""Model files: where they are, how they are downloaded, and whether they are complete.

The only part of specchat that opens a connection to another machine, and only in `pull`.
"""

import os

# Nothing is reported to anybody. huggingface_hub reads this when it is imported.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
