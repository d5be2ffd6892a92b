package pickle

import (
	"fmt"
	"slices"
	"strings"
)

// attacks are modules, and names of modules, that only pickles made to run a program refer
// to. Nothing is called in any case: files with them are refused so that nobody passes
// them on.
var attacks = map[string]bool{
	"os": true, "posix": true, "nt": true, "subprocess": true, "pty": true, "socket": true, "shutil": true, "runpy": true,
	"webbrowser": true, "ctypes": true, "commands": true, "pdb": true, "bdb": true, "code": true, "timeit": true, "sys": true, "importlib": true,
	"imp": true, "marshal": true, "pickle": true, "_pickle": true, "httplib": true, "requests.api": true,
	"cProfile": true, "pydoc": true,
	"builtins.eval": true, "builtins.exec": true, "builtins.execfile": true, "builtins.compile": true, "builtins.open": true,
	"builtins.file": true, "builtins.__import__": true, "builtins.input": true, "builtins.breakpoint": true, "builtins.apply": true,
	"io.open": true, "_io.open": true, "io.open_code": true, "_io.open_code": true, "io.FileIO": true, "_io.FileIO": true,
	"operator.attrgetter": true, "operator.methodcaller": true, "_operator.attrgetter": true, "_operator.methodcaller": true,
	"torch.load": true, "torch.serialization.load": true, "torch.jit.load": true, "numpy.load": true, "numpy.lib.npyio.load": true, "joblib.load": true,
}

// attackPackages are modules that are attacks with all of their submodules. Programs have packages of
// their own with other names in attacks, such as code.
var attackPackages = []string{"os", "subprocess", "ctypes", "importlib", "asyncio", "urllib.request", "http.client", "multiprocessing.context", "pip", "ensurepip", "venv", "idlelib", "lib2to3", "torch.hub"}

// check refuses attacks. A name with dots is an attribute of an attribute, such as os.system of module
// torch, which imports os.
func (g Global) check() error {
	attack := attacks[g.Module] || attacks[g.String()] || slices.ContainsFunc(attackPackages, func(name string) bool {
		return g.Module == name || strings.HasPrefix(g.Module, name+".")
	})
	if parts := strings.Split(g.Name, "."); len(parts) > 1 {
		for i, part := range parts[:len(parts)-1] {
			attack = attack || attacks[part] || attacks[part+"."+parts[i+1]] || part == "__builtins__" || part == "__globals__" || part == "modules"
		}
	}
	if attack {
		return fmt.Errorf("it names %v, which runs programs where a pickle is loaded; do not open this file with Python", g)
	}
	return nil
}
