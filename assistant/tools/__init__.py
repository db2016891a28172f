"""The tools that a model may call: built-in ones, those of MCP servers, and approvals."""
