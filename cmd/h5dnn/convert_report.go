package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/convert"
)

// convertReport prints what was done with every object.
func convertReport(w io.Writer, p *convert.Plan, out string, dry, verified bool) error {
	left := 0
	for _, s := range p.Steps {
		line := ""
		switch {
		case s.Reason != "":
			left++
			line = "left out: " + s.Reason
		case s.Data != nil:
			line = s.Data.DType + " " + arrayfmt.Shape(s.Data.Shape)
			if s.To != s.Path {
				line += " as " + s.To
			}
		case s.Kind == "soft":
			line = "-> " + s.Target
		case len(s.Notes) == 0:
			continue
		}
		text := strings.Join(append(slices.DeleteFunc([]string{line}, func(s string) bool { return s == "" }), s.Notes...), "; ")
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
	_, err := fmt.Fprintf(w, "%d arrays %s, %d objects left out\n", len(p.Arrays()), printable(done), left)
	return err
}

func convertJSON(w io.Writer, p *convert.Plan, at address, out string) error {
	items := []fields{}
	for _, s := range p.Steps {
		f := fields{{"path", s.Path}, {"kind", s.Kind}}
		if s.Reason != "" {
			f = append(f, field{"left_out", s.Reason})
		} else {
			f = append(f, field{"to", s.To})
		}
		if s.Data != nil {
			f = append(f, field{"dtype", s.Data.DType}, field{"shape", orNull(s.Data.Shape)})
		}
		if len(s.Notes) > 0 {
			f = append(f, field{"notes", s.Notes})
		}
		items = append(items, f)
	}
	if err := encode(w, fields{{"in", at.file}, {"out", out}, {"format", p.Format}, {"objects", items}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
