package remote

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gopkg.in/ini.v1"
)

// awsSettings are the settings of AWS that are not credentials.
type awsSettings struct {
	region   string
	endpoint string // "" for AWS's in the region
	virtual  bool   // buckets are parts of the host's name
}

// readSettings reads the settings where the tools of AWS do: the environment, and the profile of the
// configuration file.
//
//	[profile NAME]                  [services TEXT]
//	region = …                      s3 =
//	endpoint_url = …                  endpoint_url = …
//	services = TEXT
//	s3 =
//	  addressing_style = path
func readSettings() (awsSettings, error) {
	file := os.Getenv("AWS_CONFIG_FILE")
	if home, err := os.UserHomeDir(); file == "" && err == nil {
		file = filepath.Join(home, ".aws", "config")
	}
	config, err := ini.LoadSources(ini.LoadOptions{AllowNestedValues: true, Loose: true}, file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return awsSettings{}, fmt.Errorf("%s: %w", file, err)
	}
	if config == nil {
		config = ini.Empty()
	}
	name := cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	section := "profile " + name
	if name == "default" && !config.HasSection(section) {
		section = name
	}
	profile := config.Section(section)
	services := config.Section("services " + profile.Key("services").String())
	s := awsSettings{
		region:   cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), profile.Key("region").String(), defaultRegion),
		endpoint: cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), nested(services, "s3", "endpoint_url"), profile.Key("endpoint_url").String()),
	}
	switch style := nested(profile, "s3", "addressing_style"); style {
	case "path":
	case "virtual":
		s.virtual = true
	case "", "auto":
		s.virtual = s.endpoint == "" // other servers seldom have a name for each bucket
	default:
		return s, fmt.Errorf("%s: addressing_style %q; want path, virtual or auto", file, style)
	}
	return s, nil
}

// nested returns a value below a key, or "".
func nested(section *ini.Section, key, name string) string {
	for _, line := range section.Key(key).NestedValues() {
		if f, err := ini.Load([]byte(line)); err == nil && f.Section("").HasKey(name) {
			return f.Section("").Key(name).String()
		}
	}
	return ""
}
