package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/loss"
)

// convertReport prints what was done with every object.
func convertReport(c *cli.Context, w io.Writer, p *convert.Plan, out string) error {
	arrays := 0
	for _, s := range p.Steps {
		var parts []string
		switch {
		case s.LeftOut:
		case s.Data != nil:
			arrays++
			line := s.Data.DType + " " + arrayfmt.Shape(s.Data.Shape)
			if s.Data.Shape == nil {
				line = s.Data.DType + ", no value"
			}
			if s.To != s.Path {
				line += " as " + s.To
			}
			parts = append(parts, line)
		case s.Kind == "soft":
			parts = append(parts, "-> "+s.Target)
		case s.Kind == "external":
			parts = append(parts, "-> "+s.Other+":"+s.Target)
		}
		parts = append(parts, s.Notes...)
		var inside loss.List // what the file has of no array
		for _, i := range s.Lost {
			if i.Path != s.Path {
				inside = append(inside, i)
				continue
			}
			parts = append(parts, withoutKind(i.Text()))
		}
		if len(parts) > 0 {
			if _, err := fmt.Fprintf(w, "%s  %s\n", printable(s.Path), printable(strings.Join(parts, "; "))); err != nil {
				return err
			}
		}
		for _, i := range inside {
			if _, err := fmt.Fprintf(w, "%s  %s\n", printable(i.Path), printable(withoutKind(i.Text()))); err != nil {
				return err
			}
		}
	}
	if out == "-" {
		out = "standard output"
	}
	done := "written to " + out
	if c.Bool("dry-run") {
		done = "to write to " + out
	} else if c.Bool("verify") {
		done += " and verified"
	}
	_, err := fmt.Fprintf(w, "%s %s; %s\n", plural(arrays, "array"), printable(done), lossSummary(c, p.Lost))
	return err
}

func convertJSON(w io.Writer, p *convert.Plan, at address, out string) error {
	items := sequence(func(yield func(any) bool) {
		for _, s := range p.Steps {
			f := fields{{"path", s.Path}, {"kind", s.Kind}}
			if !s.LeftOut {
				f = append(f, field{"to", s.To})
			}
			if s.Data != nil {
				f = append(f, field{"dtype", s.Data.DType}, field{"shape", orNull(s.Data.Shape)})
			}
			if !yield(f.optional("notes", s.Notes)) {
				return
			}
		}
	})
	return encodeLine(w, append(fields{{"in", at.file}, {"out", out}, {"format", p.Format}, {"objects", items}}, lossFields(p.Lost)...))
}
