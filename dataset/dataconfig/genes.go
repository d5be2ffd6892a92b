package dataconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/views"
)

// What genes may be, beside a list of names.
const (
	unionOfGenes        = "union"        // all genes of any file, in the order in which they are found
	intersectionOfGenes = "intersection" // the genes that all files have, in the order of the first
)

// checkGenes reports names of genes that are given twice.
func (c Config) checkGenes() error {
	seen := map[string]bool{}
	for _, gene := range c.Genes {
		if seen[gene] {
			return wrong("%q is named twice", gene, "genes")
		}
		seen[gene] = true
	}
	return nil
}

// A geneField is a field whose columns are genes: X, a layer or raw/X of a file of AnnData.
type geneField struct {
	*field
	at    string   // file and path, for errors
	index string   // the path of the names of the genes in the file
	genes []string // by column
}

// geneFields returns the fields of parts whose columns are genes, with the names of these.
func geneFields(parts []*part) (all []geneField, err error) {
	known := map[string][]string{}
	for _, p := range parts {
		for i := range p.fields {
			g := geneField{field: &p.fields[i]}
			file := p.file
			if g.Role == dataset.Target {
				file = p.yFile
			}
			if p.files == nil || !g.find(p.files, file) {
				continue
			}
			names, read := known[file+": "+g.index]
			if !read {
				if names, err = g.names(p.files, file); err != nil {
					return nil, err
				}
				known[file+": "+g.index] = names
			}
			if g.genes = names; g.csr == nil && (g.Array.Rank() != 2 || g.Array.Shape[1] != len(names)) {
				continue // an element of each row
			}
			all = append(all, g)
		}
	}
	return all, nil
}

// find finds the names of the genes of a field, those that an index of its path selects, and reports whether its columns are genes.
func (g *geneField) find(files Files, file string) bool {
	path, expr := wildcard(g.path).split()
	path = strings.TrimSuffix("/"+strings.Trim(path, "/"), "/data")
	group := "/var"
	switch {
	case g.Role != dataset.Input && g.Role != dataset.Target || len(g.columns) > 0:
		return false
	case path == "/raw/X":
		group = "/raw/var"
	case path != "/X" && !strings.HasPrefix(path, "/layers/"):
		return false
	}
	name, err := files.Attribute(file, group, "_index")
	if err != nil || len(name) != 1 {
		return false
	}
	g.at, g.index = file+": "+path, fmt.Sprintf("%s/%v", group, name[0])
	if items := splitColumns(strings.TrimSuffix(strings.TrimPrefix(expr, "["), "]")); expr != "" && len(items) == 2 {
		g.index += "[" + items[1] + "]"
	}
	return true
}

// names reads the names of the genes of a field.
func (g *geneField) names(files Files, file string) ([]string, error) {
	found, err := files.Find(file, g.index)
	if err == nil && found.Texts == nil {
		err = fmt.Errorf("%s: %s holds no names of genes", file, g.index)
	}
	if err != nil {
		return nil, err
	}
	return found.Texts()
}

// alignGenes gives the fields of parts whose columns are genes the genes that c names, and returns these, and a note on what
// moved or is missing. Without names, the genes must be the same in all files, and are returned if they can be told apart. trained says
// that c names those that a model was trained on.
func (c Config) alignGenes(parts []*part, trained bool) (genes, notes []string, err error) {
	fields, err := geneFields(parts)
	switch {
	case len(parts) < 2 && len(c.Genes) == 0 && err != nil: // names are not needed
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case len(c.Genes) == 0:
		return commonGenes(fields), nil, sameGenes(fields)
	case len(fields) == 0 && trained:
		return nil, []string{fmt.Sprintf("no genes are named; columns are taken as the %d of training, in their order", len(c.Genes))}, nil
	case len(fields) == 0:
		return nil, nil, config.At(config.Errorf("no input has genes: want X, raw/X or a layer of files of AnnData, whose var names them"), "genes")
	}
	if genes, err = c.chooseGenes(fields, trained); err != nil {
		return nil, nil, err
	}
	place := map[string]int32{}
	for i, gene := range genes {
		place[gene] = int32(i)
	}
	missing, files, moved := 0, 0, false
	for _, f := range fields {
		if slices.Equal(f.genes, genes) {
			continue
		}
		moved = true
		n, err := f.align(place)
		if err != nil {
			return nil, nil, err
		}
		if missing = max(missing, n); n > 0 {
			files++
		}
	}
	if !moved {
		return genes, nil, nil
	}
	notes = []string{fmt.Sprintf("columns are genes by name, %d of them", len(genes))}
	if missing > 0 {
		notes[0] += fmt.Sprintf("; %d of %d matrices lack some, up to %d, which are 0 there", files, len(fields), missing)
	}
	return genes, notes, nil
}

// sameGenes returns an error unless the columns of each input are the same genes in all parts.
func sameGenes(fields []geneField) error {
	first := map[string]geneField{}
	for _, f := range fields {
		g, known := first[f.Name]
		if !known {
			first[f.Name] = f
			continue
		}
		if k := firstDifference(f.genes, g.genes); k >= 0 {
			return fmt.Errorf("%s: its columns are not the genes of %s in the same order, from column %d on; set genes to union, intersection or a list of names: %w", f.at, g.at, k, views.ErrShape)
		}
	}
	return nil
}

// commonGenes returns the genes of all fields, or nil if some are others, are chosen by position, or have the same name.
func commonGenes(fields []geneField) []string {
	for _, f := range fields {
		if strings.HasSuffix(f.index, "]") || !slices.Equal(f.genes, fields[0].genes) || len(slices.Compact(slices.Sorted(slices.Values(f.genes)))) < len(f.genes) {
			return nil
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return fields[0].genes
}

// firstDifference returns the first place at which a and b differ, or -1.
func firstDifference(a, b []string) int {
	for k := range min(len(a), len(b)) {
		if a[k] != b[k] {
			return k
		}
	}
	if len(a) == len(b) {
		return -1
	}
	return min(len(a), len(b))
}

// chooseGenes returns the genes that c names. If trained is set, files may lack them.
func (c Config) chooseGenes(fields []geneField, trained bool) (genes []string, err error) {
	count, order := map[string]int{}, []string{} // fields that have each gene
	for _, f := range fields {
		if strings.HasSuffix(f.index, "]") {
			return nil, fmt.Errorf("%s: genes selects columns by name; leave out the index of the path: %w", f.at, views.ErrShape)
		}
		seen := map[string]bool{}
		for _, gene := range f.genes {
			if seen[gene] {
				return nil, fmt.Errorf("%s: gene %q is a duplicate, so that columns cannot be told apart by name: %w", f.at, gene, views.ErrShape)
			}
			seen[gene] = true
			if count[gene]++; count[gene] == 1 {
				order = append(order, gene)
			}
		}
	}
	switch {
	case slices.Equal(c.Genes, Names{unionOfGenes}):
		return order, nil
	case slices.Equal(c.Genes, Names{intersectionOfGenes}):
		genes = slices.DeleteFunc(order, func(gene string) bool { return count[gene] < len(fields) })
		if len(genes) == 0 {
			return nil, fmt.Errorf("%s and the others have no gene in common: %w", fields[0].at, views.ErrShape)
		}
		return genes, nil
	}
	for _, gene := range c.Genes {
		if count[gene] == 0 && !trained {
			return nil, config.At(config.Unknown("gene", gene, order), "genes", gene)
		}
	}
	if !slices.ContainsFunc(c.Genes, func(gene string) bool { return count[gene] > 0 }) {
		return nil, fmt.Errorf("%s has none of the %d genes of training, such as %s: %w", fields[0].at, len(c.Genes), c.Genes[0], views.ErrShape)
	}
	return c.Genes, nil
}

// align makes the columns of f the genes at their places, and returns how many of these it lacks.
func (f geneField) align(place map[string]int32) (missing int, err error) {
	to := make([]int32, len(f.genes))
	for k, gene := range f.genes {
		i, wanted := place[gene]
		if to[k] = i; !wanted {
			to[k] = -1
		} else {
			missing++
		}
	}
	missing = len(place) - missing
	if f.csr == nil {
		f.Array, err = dataset.MapColumns(f.at, f.Array, to, len(place))
		return missing, err
	}
	if f.csr.width != len(to) {
		return 0, fmt.Errorf("%s: %d columns and %d genes: %w", f.at, f.csr.width, len(to), views.ErrShape)
	}
	if f.csr.width = len(place); f.csr.columns {
		f.csr.rows = dataset.MapNumbers(f.csr.rows, to)
	}
	return missing, nil
}
