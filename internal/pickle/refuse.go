package pickle

import "fmt"

// attacks are modules, and names of modules, that only pickles made to run a program refer
// to. Nothing is called in any case: files with them are refused so that nobody passes
// them on.
var attacks = map[string]bool{
	"os": true, "posix": true, "nt": true, "subprocess": true, "pty": true, "socket": true, "shutil": true, "runpy": true,
	"webbrowser": true, "ctypes": true, "commands": true, "pdb": true, "code": true, "timeit": true, "sys": true, "importlib": true,
	"builtins.eval": true, "builtins.exec": true, "builtins.execfile": true, "builtins.compile": true, "builtins.open": true,
	"builtins.file": true, "builtins.__import__": true, "builtins.input": true, "builtins.breakpoint": true,
}

func (g Global) check() error {
	if attacks[g.Module] || attacks[g.String()] {
		return fmt.Errorf("it names %v, which runs programs where a pickle is loaded; do not open this file with Python", g)
	}
	return nil
}
