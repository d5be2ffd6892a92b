package pickle

import (
	"strings"
	"testing"
)

// TestNamesThatRunPrograms: a name that could run a program is refused before anything is made of it,
// also as an attribute of a harmless module, and other names are not.
func TestNamesThatRunPrograms(t *testing.T) {
	load := func(module, name string) error {
		text := "\x80\x04\x8c" + string(rune(len(module))) + module + "\x8c" + string(rune(len(name))) + name + "\x93."
		_, _, err := Load(strings.NewReader(text), int64(len(text)), 1<<20)
		return err
	}
	for _, name := range []string{
		"os system", "posix system", "nt system", "os.path join", "subprocess Popen", "_io open", "io open", "builtins eval", "__builtin__ eval", "pickle loads",
		"marshal loads", "torch load", "torch.hub load", "torch.hub.x load", "torch os.system", "collections abc.sys.modules", "torch.nn __builtins__.eval",
		"asyncio.subprocess create_subprocess_shell", "urllib.request urlopen", "operator attrgetter", "runpy run_path", "pip main", "idlelib.pyshell X", "importlib.util find_spec",
	} {
		module, name, _ := strings.Cut(name, " ")
		if err := load(module, name); err == nil || !strings.Contains(err.Error(), "runs programs") {
			t.Errorf("%s %s: %v", module, name, err)
		}
	}
	for _, name := range []string{
		"collections OrderedDict", "torch._utils _rebuild_tensor_v2", "builtins getattr", "functools partial", "mine Net.Config", "code.models Net", "osmosis Net",
		"pathlib PosixPath", "urllib.parse ParseResult", "operator itemgetter", "datetime datetime", "torch.serialization _get_layout",
	} {
		module, name, _ := strings.Cut(name, " ")
		if err := load(module, name); err != nil {
			t.Errorf("%s %s: %v", module, name, err)
		}
	}
}
