package nn

import (
	"path"
	"reflect"
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
)

// A ParamGroup has settings of its own for some parameters of an optimizer. A
// parameter belongs to the first group that matches its name.
type ParamGroup struct {
	Params       Names    `json:"params"`                 // required: names or patterns as path.Match has them: *.bias
	LearningRate *float64 `json:"lr,omitempty"`           // the optimizer's if nil; schedules scale both alike
	WeightDecay  *float64 `json:"weight_decay,omitempty"` // the optimizer's if nil
	Freeze       bool     `json:"freeze,omitempty"`       // the parameters stay as they are
}

// An UpdateGroup is the parameters of a group in a step. The last group of a step,
// of the parameters that no ParamGroup matches, has the settings of the optimizer.
type UpdateGroup struct {
	Updates     []tensor.Update
	RateFactor  float64         // multiplies the optimizer's learning rate; Args have the product
	WeightDecay *float64        // in the place of the optimizer's, if not nil
	Args        tensor.StepArgs // step arguments in device memory; nil outside graph replay
}

// paramGroups assigns parameters to groups.
type paramGroups struct {
	groups  []ParamGroup
	noDecay Names
	rate    float64        // initial learning rate of the optimizer
	of      map[string]int // group of each parameter by name; len(groups) if none
}

// newParamGroups checks the groups of the named optimizer.
func newParamGroups(optimizer string, rate float64, groups []ParamGroup) paramGroups {
	for _, g := range groups {
		if len(g.Params) == 0 {
			tensor.Fail(optimizer, ErrConfig, "a group without params")
		}
		checkPatterns(optimizer, "params", g.Params)
		if g.Freeze && (g.LearningRate != nil || g.WeightDecay != nil) {
			tensor.Fail(optimizer, ErrConfig, "a group that is frozen, with lr or weight_decay; leave these out")
		}
		if g.LearningRate != nil {
			checkRange(optimizer, "lr of a group", *g.LearningRate, 0, infinity)
			if rate == 0 {
				tensor.Fail(optimizer, ErrConfig, "lr 0 and a group of lr %v, which is scaled with it; give lr a value", *g.LearningRate)
			}
		}
		if g.WeightDecay != nil {
			checkRange(optimizer, "weight_decay of a group", *g.WeightDecay, 0, infinity)
		}
	}
	return paramGroups{groups: groups, rate: rate}
}

// find returns the group of the named parameter.
func (g *paramGroups) find(name string) int {
	if i, ok := g.of[name]; ok {
		return i
	}
	if g.of == nil {
		g.of = map[string]int{}
	}
	g.of[name] = len(g.groups)
	for i, group := range g.groups {
		if group.matches(name) {
			g.of[name] = i
			break
		}
	}
	return g.of[name]
}

func checkPatterns(optimizer, setting string, patterns Names) {
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			tensor.Fail(optimizer, ErrConfig, "%s %q: %v", setting, pattern, err)
		}
	}
}

func (g ParamGroup) matches(name string) bool { return g.Params.match(name) }

// match reports whether name is one of patterns, or matches one.
func (patterns Names) match(name string) bool {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok || pattern == name {
			return true
		}
	}
	return false
}

// frozen reports whether the parameters of group i stay as they are.
func (g *paramGroups) frozen(i int) bool { return i < len(g.groups) && g.groups[i].Freeze }

// factor returns what to multiply the optimizer's learning rate by in group i.
func (g *paramGroups) factor(i int) float64 {
	if i == len(g.groups) || g.groups[i].LearningRate == nil {
		return 1
	}
	return *g.groups[i].LearningRate / g.rate
}

// decay returns the weight decay of group i, nil if it is the optimizer's.
func (g *paramGroups) decay(i int) *float64 {
	if i == len(g.groups) {
		return nil
	}
	return g.groups[i].WeightDecay
}

// argsOf returns the part of args for group i, where the hyperparameters of all
// groups lie one after another.
func (g *paramGroups) argsOf(args tensor.StepArgs, i int) tensor.StepArgs {
	if args == nil || len(g.groups) == 0 {
		return args
	}
	each := args[0].Len() / (len(g.groups) + 1)
	own := slices.Clone(args)
	own[0] = tensor.FromArray(args[0]).Slice(0, i*each, (i+1)*each, 1).Array()
	return own
}

// current returns the groups with the learning rates that they have when the
// optimizer's is rate.
func (g *paramGroups) current(rate float64) []ParamGroup {
	if g.groups == nil || rate == g.rate {
		return g.groups
	}
	list := make([]ParamGroup, len(g.groups))
	for i, group := range g.groups {
		if group.LearningRate != nil {
			group.LearningRate = new(g.factor(i) * rate)
		}
		list[i] = group
	}
	return list
}

// withGroups returns the settings of an optimizer, a struct with a field Groups, with the learning rates that the groups have when
// the optimizer's is rate.
func (s *OptimizerState) withGroups(settings any, rate float64) any {
	now := reflect.New(reflect.TypeOf(settings)).Elem()
	now.Set(reflect.ValueOf(settings))
	now.FieldByName("Groups").Set(reflect.ValueOf(s.groups.current(rate)))
	return now.Interface()
}
