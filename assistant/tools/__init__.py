"""Tools: those of specchat, those of MCP servers, and which of them may run."""
