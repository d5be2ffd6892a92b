package propose

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// A role is the purpose of an array. Only features are proposed as inputs or targets.
type role int

const (
	feature    role = iota
	unusable        // not numbers or strings, or empty
	identifier      // of the rows
	constant
	coordinate // of an axis
	names      // of classes, channels or columns
	splitting  // says which rows are for validation
	folding    // numbers the folds
	grouping   // rows that belong together
	weighting  // of the samples
	lengths    // of the rows
	auxiliary  // errors, thumbnails, what comes after an action
)

// A candidate is an array with what was found out about it.
type candidate struct {
	*Array
	facts
	form
	role role
	why  string // it has that role
}

func lower(s string) string { return strings.ToLower(s) }

// rows returns the number of rows of all episodes.
func (c *candidate) rows() int {
	n := 0
	for _, k := range c.Rows {
		n += k
	}
	return n
}

// column reports whether each row is one element.
func (c *candidate) column() bool { return product(c.Row) == 1 && len(c.Row) <= 1 }

// categories returns the names of the integers, or the different strings, commonest first.
func (c *candidate) categories() []string {
	if c.Names != nil {
		return c.Names
	}
	return slices.SortedFunc(maps.Keys(c.texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.texts[b], c.texts[a]), cmp.Compare(a, b))
	})
}

// words reports whether the elements name things: strings, or integers with names.
func (c *candidate) words() bool { return c.Kind == Texts || c.Names != nil }

// assign tells the role of each candidate, from its values first and its name second.
func (s *search) assign(c *candidate) (role, string) {
	for _, tell := range []func(*candidate) (role, string){s.byKind, s.byConvention, bySide, byValues, byName} {
		if r, why := tell(c); r != feature {
			return r, why
		}
	}
	return feature, ""
}

func (s *search) byKind(c *candidate) (role, string) {
	switch {
	case c.Kind == Other && c.Unread != "":
		return unusable, "not read: " + c.Unread
	case c.Kind == Other:
		return unusable, c.Stored + " is not read as numbers"
	case c.Kind == Numbers && c.Type.IsComplex():
		return unusable, "complex numbers"
	case c.n > 0 && c.missing == c.n:
		return unusable, "all values are missing"
	}
	return feature, ""
}

// byConvention knows what other programs mark.
func (s *search) byConvention(c *candidate) (role, string) {
	group := s.file.Groups[parentOf(c.Path)]
	base := path.Base(c.Path)
	axes := strings.Split(group["axes"], ",")
	switch {
	case c.Attrs["class"] == "DIMENSION_SCALE" || len(c.Axes) == 1 && c.Axes[0] == base:
		return coordinate, "the coordinates of an axis"
	case group["nx_class"] == "NXdata" && slices.Contains(axes, base):
		return coordinate, "an axis of NXdata"
	case strings.Contains(lower(c.Path), "thumbnail"):
		return auxiliary, "a thumbnail"
	case s.file.Format == "anndata" && !inAnnData(c.Path):
		return auxiliary, "not of the cells"
	case s.byPath[c.Path+"[:, 2]"] != nil:
		return auxiliary, "events of MNE"
	case s.sparseGroup(c):
		return auxiliary, "part of a sparse matrix"
	}
	return feature, ""
}

// inAnnData reports whether an array of AnnData is about the cells, and not a copy of X.
func inAnnData(p string) bool {
	return p == "/X" || strings.HasPrefix(p, "/obs/") || strings.HasPrefix(p, "/obsm/")
}

// sparseGroup reports whether data, indices and indptr are together.
func (s *search) sparseGroup(c *candidate) bool {
	parts := []string{"data", "indices", "indptr"}
	if !slices.Contains(parts, path.Base(c.Path)) {
		return false
	}
	for _, part := range parts {
		if s.byPath[path.Dir(c.Path)+"/"+part] == nil {
			return false
		}
	}
	return true
}

// only returns the only value of a constant, after a comma.
func (c *candidate) only() string {
	if c.Kind == Texts {
		return ", " + someOf(c.categories(), 1)
	}
	return fmt.Sprintf(", %v", c.min)
}

// byValues knows constants, row numbers and strings that no two rows share.
func byValues(c *candidate) (role, string) {
	sure := c.n >= 3
	integers := c.Kind == Numbers && c.integers && !c.Type.IsFloat() && c.column()
	switch {
	case sure && c.constant():
		return constant, "a constant" + c.only()
	case c.Kind == Texts && c.column() && sure && c.unique():
		return identifier, "a different string in each row"
	case c.Kind == Texts && c.distinct > c.n/2 && c.n >= 8:
		return identifier, fmt.Sprintf("%d different strings in %d rows", c.distinct, c.n)
	case integers && sure && c.unique() && (c.even || c.max-c.min == float64(c.n-1)):
		return identifier, "the numbers of the rows"
	case integers && sure && c.rising:
		return identifier, "integers that only rise"
	case integers && sure && c.unique() && identifierWords.named(c.Path):
		return identifier, "a different number in each row"
	case c.Kind == Numbers && c.column() && sure && c.rising && (coordinateWords.named(c.Path) || c.even && c.n >= 8):
		return coordinate, "values that only rise"
	}
	return feature, ""
}

// bySide knows masks, folds and words that split rows.
func bySide(c *candidate) (role, string) {
	words := wordsOf(baseOf(c.Path))
	side := validationWords.among(words) || testWords.among(words) || trainWords.among(words)
	inMask := slices.Contains([]string{"mask", "masks", "split", "splits"}, path.Base(path.Dir(c.Path)))
	indices := slices.Contains(words, "idx") || slices.Contains(words, "index") || slices.Contains(words, "indices")
	masking := slices.Contains(words, "mask") || slices.Contains(words, "is")
	switch {
	case len(c.Row) > 0:
	case foldWords.among(words) && c.integers && c.distinct >= 2 && c.distinct <= 20:
		return folding, plural(c.distinct, "fold")
	case c.words() && c.column() && sidesOf(c.categories()) != nil:
		return splitting, "words such as train and val"
	case side && (inMask || indices || masking && c.binary() || len(words) == 1 && c.binary()):
		return splitting, "says which rows are for " + words[len(words)-1]
	case splitWords.is(c.Path) && c.integers && c.distinct >= 2 && c.distinct <= 3 && c.max-c.min == float64(c.distinct-1) && !c.words():
		return splitting, "numbers of the parts of a split"
	}
	return feature, ""
}

// sidesOf returns the words for training, validation and test data in a list, by side; nil if
// others are among them, or there is nothing to validate on.
func sidesOf(words []string) map[string]string {
	sides := map[string]string{}
	for _, word := range words {
		switch w := lower(word); {
		case slices.Contains(trainWords, w):
			sides["train"] = word
		case slices.Contains(validationWords, w):
			sides["val"] = word
		case slices.Contains(testWords, w):
			sides["test"] = word
		default:
			return nil
		}
	}
	if sides["train"] == "" || len(sides) < 2 {
		return nil
	}
	return sides
}

// byName knows identifiers, groups, weights, lengths and companions of other arrays.
func byName(c *candidate) (role, string) {
	words := wordsOf(baseOf(c.Path))
	repeated := c.distinct >= 2 && c.distinct < c.n
	whole := c.Kind == Texts || c.integers && !c.Type.IsFloat()
	id := slices.Contains(words, "id") || slices.Contains(words, "index")
	switch {
	case c.column() && whole && repeated && groupWords.among(words) && !targetWords.among(words):
		return grouping, fmt.Sprintf("%d different ones in %d rows", c.distinct, c.n)
	case c.column() && len(words) == 1 && (words[0] == "id" || words[0] == "index"), c.column() && id && c.distinct > c.n/2 && c.n >= 8:
		return identifier, "named as an identifier"
	case c.column() && whole && runWords.among(words):
		return identifier, "the numbers of runs"
	case c.column() && c.Type.IsFloat() && weightWords.among(words) && c.min >= 0 && c.max < 20:
		return weighting, "weights of the samples"
	case c.column() && lengthWords.among(words) && c.integers:
		return lengths, "the lengths of the rows"
	case errorWords.among(words):
		return auxiliary, "uncertainties"
	case slices.Contains(words, "attention") || slices.Contains(words, "padding"), len(c.Row) == 1 && c.binary() && len(words) == 1 && words[0] == "mask":
		return auxiliary, "a mask of the rows' lengths"
	case strings.Contains(c.Path, "*") && (rewardWords.among(words) || nextWords.within(c.Path)):
		return auxiliary, "what follows an action"
	}
	return feature, ""
}
