"""The command line. `app` knows every command by name and imports a command's module only when it is used."""
