package train

import (
	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/nn"
)

var registered = nn.NewKind[Callback]("callback")

// RegisterCallback makes callbacks of type C available to configurations under name, as nn.RegisterLayer does for layers. C
// embeds S, or has a method Config that returns its settings.
func RegisterCallback[S any, C Callback](name string, make func(settings S) C, defaults S) bool {
	return nn.Register[S, C](registered, name, make, defaults)
}

// CallbackFromConfig builds the callback that description describes: "early_stopping" or {"early_stopping": {"patience": 5}}.
func CallbackFromConfig(description any) (Callback, error) {
	return registered.FromConfig(description)
}

// DescribeCallback returns the settings of c as CallbackFromConfig reads them.
func DescribeCallback(c Callback) (any, error) { return registered.Describe(c) }

// CallbackName returns the name of c in configurations, or else its type.
func CallbackName(c Callback) string { return registered.Name(c) }

// Registrations lists the callbacks that configurations can name.
func Registrations() []nn.Registration { return registered.Registrations() }

// newCallbacks returns the callbacks that c names.
func (c Config) newCallbacks() (all []Callback, err error) {
	for i, description := range c.Callbacks {
		made, err := CallbackFromConfig(description)
		if err != nil {
			return nil, config.At(err, "callbacks", config.Item{Kind: "callback", Index: i})
		}
		all = append(all, made)
	}
	return all, nil
}

// Outputs lists the files that the callbacks of c write, of a run in the named file.
func (c Config) Outputs(run string) (files []string) {
	all, err := c.newCallbacks()
	if err != nil {
		return nil // which Check reports
	}
	for _, one := range all {
		if o, ok := one.(interface{ Outputs(run string) []string }); ok {
			files = append(files, o.Outputs(run)...)
		}
	}
	return files
}
