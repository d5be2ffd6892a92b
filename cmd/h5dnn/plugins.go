package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

// pluginNotes are the filters that h5py and other programs of libhdf5 apply with a plugin, by
// the package of Python that installs it.
type pluginNotes map[string][]string

// add notes a filter of a file.
func (n *pluginNotes) add(id int, name string) {
	plugin := filter.Plugin(id)
	if plugin == "" {
		return
	}
	if *n == nil {
		*n = pluginNotes{}
	}
	if text := fmt.Sprintf("%s (%d)", name, id); !slices.Contains((*n)[plugin], text) {
		(*n)[plugin] = append((*n)[plugin], text)
	}
}

// lines returns a sentence for each plugin.
func (n pluginNotes) lines() (lines []string) {
	for plugin, filters := range n {
		way := "after import " + plugin
		if plugin == "?" {
			way = "where the plugin is installed"
		}
		lines = append(lines, fmt.Sprintf("filter %s is a plugin of libhdf5: h5py reads the data %s", strings.Join(filters, ", "), way))
	}
	slices.Sort(lines)
	return lines
}

// pluginLines returns the sentences on filters that are written.
func pluginLines(pipeline []filter.Filter) []string {
	var n pluginNotes
	for _, f := range pipeline {
		n.add(f.ID, f.String())
	}
	return n.lines()
}
