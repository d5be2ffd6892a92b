package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// report prints what was done with every object.
func (p *plan) report(w io.Writer, out string, dry, verified bool) error {
	left := 0
	for _, s := range p.steps {
		line := ""
		switch {
		case s.reason != "":
			left++
			line = "left out: " + s.reason
		case s.Data != nil:
			line = s.Data.DType + " " + tuple(s.Data.Shape)
			if s.to != s.Path {
				line += " as " + s.to
			}
		case s.Kind == "soft":
			line = "-> " + s.Target
		case len(s.notes) == 0:
			continue
		}
		text := strings.Join(append(slices.DeleteFunc([]string{line}, func(s string) bool { return s == "" }), s.notes...), "; ")
		if _, err := fmt.Fprintf(w, "%s  %s\n", printable(s.Path), printable(text)); err != nil {
			return err
		}
	}
	done := "written to " + out
	if dry {
		done = "to write to " + out
	} else if verified {
		done += " and verified"
	}
	_, err := fmt.Fprintf(w, "%d arrays %s, %d objects left out\n", len(p.arrays()), printable(done), left)
	return err
}

func (p *plan) json(w io.Writer, at address, out string) error {
	items := []fields{}
	for _, s := range p.steps {
		f := fields{{"path", s.Path}, {"kind", s.Kind}}
		if s.reason != "" {
			f = append(f, field{"left_out", s.reason})
		} else {
			f = append(f, field{"to", s.to})
		}
		if s.Data != nil {
			f = append(f, field{"dtype", s.Data.DType}, field{"shape", orNull(s.Data.Shape)})
		}
		if len(s.notes) > 0 {
			f = append(f, field{"notes", s.notes})
		}
		items = append(items, f)
	}
	if err := encode(w, fields{{"in", at.file}, {"out", out}, {"format", p.format}, {"objects", items}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
