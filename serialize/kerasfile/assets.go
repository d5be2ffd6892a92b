package kerasfile

import (
	"strings"

	"github.com/h5dnn/h5dnn/loss"
)

// assetsFolder is the folder of an archive with files of layers, such as the vocabulary of a
// TextVectorization.
const assetsFolder = "assets/"

// Omitted implements serialize.Omitter: it names the files of layers in an archive, which are
// neither arrays nor metadata.
func (f *File) Omitted() (omitted loss.List) {
	for _, m := range f.members {
		if strings.HasPrefix(m.Name, assetsFolder) && !strings.HasSuffix(m.Name, "/") {
			omitted.Add("/"+m.Name, loss.Property, 1, "a file of a layer, such as a vocabulary, which is not copied")
		}
	}
	return omitted
}
