package cuda

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	entryHead  = regexp.MustCompile(`\.entry\s+([\w$%.]+)\s*\(([^)]*)\)`)
	entryParam = regexp.MustCompile(`\.param\s+(?:\.align\s+\d+\s+)?\.[usbf](8|16|32|64)\s[^,\[]*(?:\[(\d+)\])?`)
)

// entries returns the size of each parameter of each entry of PTX.
func entries(text string) map[string][]int {
	found := map[string][]int{}
	for _, head := range entryHead.FindAllStringSubmatch(text, -1) {
		sizes := []int{}
		for _, param := range entryParam.FindAllStringSubmatch(head[2], -1) {
			bits, _ := strconv.Atoi(param[1])
			count := 1
			if param[2] != "" {
				count, _ = strconv.Atoi(param[2])
			}
			sizes = append(sizes, bits/8*count)
		}
		found[head[1]] = sizes
	}
	return found
}

// entryNames lists entries for an error message.
func entryNames(all map[string][]int) string {
	if len(all) == 0 {
		return "no entries"
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
}
