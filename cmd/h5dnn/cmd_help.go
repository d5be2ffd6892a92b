package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/docs"
	"github.com/h5dnn/h5dnn/spell"
)

func helpCommand() *cli.Command {
	return &cli.Command{
		Name:        "help",
		Usage:       "explain a command, a setting of training, or what a configuration can name",
		ArgsUsage:   "[TOPIC]",
		Description: "TOPIC is a command, models (their conversion), onnx (its operators), configuration (all settings), train settings, data, or the name of a preset, layer, loss,\nmetric, optimizer, schedule, augmentation or callback, such as conv2d or adamw. Without TOPIC, lists all of them.",
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return listTopics(c.App.Writer, c.App)
			}
			return explain(c, strings.Join(c.Args().Slice(), " "))
		},
	}
}

// plainPages are the topics that are a page each.
var plainPages = slices.Sorted(maps.Keys(docs.Pages))

// explain prints what is known of a topic.
func explain(c *cli.Context, topic string) error {
	if command := c.App.Command(topic); command != nil {
		return cli.ShowCommandHelp(c.Lineage()[len(c.Lineage())-2], topic)
	}
	for _, name := range plainPages {
		if spell.Plain(topic) == name {
			_, err := io.WriteString(c.App.Writer, docs.Pages[name])
			return err
		}
	}
	pages := configurationPages()
	known, text := append(commandNames(c.App), plainPages...), ""
	for _, p := range pages {
		if spell.Plain(p.name) == spell.Plain(topic) || slices.Contains(p.aliases, spell.Plain(topic)) {
			text += p.text
		}
		known = append(known, p.name)
	}
	if text != "" {
		_, err := io.WriteString(c.App.Writer, text)
		return err
	}
	return fmt.Errorf("no topic %q%s; h5dnn help lists them", topic, spell.Hint(topic, known))
}

// A page is a section of docs/configuration.md.
type page struct {
	name    string
	aliases []string
	level   int // of the heading
	text    string
}

// configurationPages returns the sections of the configuration, the whole first.
var configurationPages = sync.OnceValue(func() []page {
	var pages []page
	for line := range strings.Lines(docs.Configuration) {
		level := len(line) - len(strings.TrimLeft(line, "#"))
		heading := strings.TrimSpace(line[level:])
		if level == 2 && heading == "train" {
			heading = "train settings" // train is the command
		}
		if level > 0 {
			pages = append(pages, page{name: strings.ToLower(heading), level: level})
			line = heading + "\n"
		}
		for i := range pages {
			if p := &pages[i]; i == len(pages)-1 || p.level < pages[len(pages)-1].level && !slices.ContainsFunc(pages[i+1:], func(q page) bool { return q.level <= p.level }) {
				p.text += line
			}
		}
		if _, others, ok := strings.Cut(line, "Also `"); ok && level == 0 {
			last := &pages[len(pages)-1]
			last.aliases = strings.Split(strings.TrimSuffix(strings.TrimSpace(others), "`."), "`, `")
		}
	}
	return pages
})

// listTopics prints the names of all topics.
func listTopics(w io.Writer, app *cli.App) error {
	fmt.Fprintf(w, "h5dnn help TOPIC\n\nCommands\n%s", inColumns(commandNames(app)))
	var names []string
	heading := "Configuration"
	fmt.Fprintf(w, "\nPages\n%s", inColumns(plainPages))
	flush := func() {
		if len(names) > 0 {
			fmt.Fprintf(w, "\n%s\n%s", heading, inColumns(names))
		}
		names = nil
	}
	for _, p := range configurationPages() {
		if p.level == 2 && p.name != "train settings" && p.name != "data" {
			flush()
			heading = strings.ToUpper(p.name[:1]) + p.name[1:]
			continue
		}
		names = append(names, p.name)
	}
	flush()
	return nil
}

// inColumns returns names in lines of at most 80 characters.
func inColumns(names []string) string {
	var b strings.Builder
	at := 0
	for _, name := range names {
		if at > 0 && at+2+len(name) > 78 {
			b.WriteString("\n")
			at = 0
		}
		b.WriteString("  " + name)
		at += 2 + len(name)
	}
	b.WriteString("\n")
	return b.String()
}
