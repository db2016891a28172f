"""How to set editors up for completions by `specchat serve`."""

EDITORS = {
    "vim": ("llama.vim, in vimrc", "let g:llama_config = { 'endpoint_fim': 'ROOT/infill' }"),
    "vscode": ("llama.vscode, in settings.json", '"llama-vscode.endpoint": "ROOT",'),
    "continue": (
        "Continue, in config.yaml, under models",
        """- { name: specchat, provider: llama.cpp, model: MODEL, apiBase: "ROOT/",
    roles: [autocomplete] }""",
    ),
    "zed": (
        "Zed, in settings.json",
        """"edit_predictions": { "provider": "open_ai_compatible_api", "open_ai_compatible_api": {
  "api_url": "ROOT/v1/completions", "model": "MODEL", "max_output_tokens": 64 } },""",
    ),
    "minuet": (
        "minuet, in init.lua",
        """require('minuet').setup { provider = 'openai_fim_compatible', n_completions = 1,
  provider_options = { openai_fim_compatible = { name = 'specchat', api_key = 'TERM',
    end_point = 'ROOT/v1/completions', model = 'MODEL', optional = { max_tokens = 56 } } } }""",
    ),
}
"""By the names that `--editor` takes: the plugin and its file, and the lines for it."""


def lines_for(editor: str, root: str, model: str) -> str:
    """Return the lines for a server, such as `http://127.0.0.1:8471`, and its model."""
    return EDITORS[editor][1].replace("ROOT", root).replace("MODEL", model)
