package storage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// RegisterLister makes Glob list the files at URLs of a scheme that match a pattern with *, ? and [].
func RegisterLister(scheme string, list func(ctx context.Context, pattern string) ([]string, error)) {
	remotes.Lock()
	defer remotes.Unlock()
	remotes.list[scheme] = list
}

// mostExpanded limits the number of URLs that braces stand for.
const mostExpanded = 1 << 20

// GlobURLs lists the URLs that a pattern stands for. shard-{000..012}.h5 is thirteen names and {train,val}.h5 two,
// as in shells. Stars are for servers that list files, such as S3.
func GlobURLs(ctx context.Context, pattern string) (all []string, err error) {
	names, err := expand(pattern)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		scheme, rest, _ := strings.Cut(name, "://")
		path, _, _ := strings.Cut(rest, "?") // what follows is a query, unless servers list files
		remotes.Lock()
		list := remotes.list[scheme]
		remotes.Unlock()
		switch {
		case list != nil && strings.ContainsAny(rest, "*?["):
			found, err := list(ctx, name)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		case strings.Contains(path, "*"):
			return nil, fmt.Errorf("%s: servers of %s do not list files; name them one by one or as shard-{000..012}.h5, and a star in a name as %%2A: %w", WithoutSecrets(name), scheme, ErrState)
		default:
			all = append(all, name)
		}
	}
	return all, nil
}

// expand returns the names that a pattern with braces stands for.
func expand(pattern string) ([]string, error) {
	open := strings.IndexByte(pattern, '{')
	length := strings.IndexByte(pattern[max(open, 0):], '}')
	if open < 0 || length < 0 {
		return []string{pattern}, nil
	}
	head, inside := pattern[:open], pattern[open+1:open+length]
	rests, err := expand(pattern[open+length+1:])
	if err != nil {
		return nil, err
	}
	words := strings.Split(inside, ",")
	if first, last, ok := strings.Cut(inside, ".."); ok {
		if words, err = numbersBetween(first, last); err != nil {
			return nil, fmt.Errorf("%s: {%s}: %w", WithoutSecrets(pattern), inside, err)
		}
	} else if len(words) < 2 { // no pattern
		words = []string{"{" + inside + "}"}
	}
	if len(words)*len(rests) > mostExpanded {
		return nil, fmt.Errorf("%s: {%s} makes more than %d names: %w", WithoutSecrets(pattern), inside, mostExpanded, ErrState)
	}
	var all []string
	for _, word := range words {
		for _, rest := range rests {
			all = append(all, head+word+rest)
		}
	}
	return all, nil
}

// numbersBetween returns the numbers from first to last, with as many digits as these if they begin with 0.
func numbersBetween(first, last string) (all []string, err error) {
	from, err1 := strconv.ParseUint(first, 10, 63)
	to, err2 := strconv.ParseUint(last, 10, 63)
	if err1 != nil || err2 != nil || to < from || to-from >= mostExpanded {
		return nil, fmt.Errorf("want numbers from a smaller one to a larger one, such as {000..012}: %w", ErrState)
	}
	width := 0
	if strings.HasPrefix(first, "0") {
		width = len(first)
	}
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf("%0*d", width, n))
	}
	return all, nil
}
