package remote_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage/remote"
	"github.com/h5dnn/h5dnn/storage/remote/remotetest"
)

// TestSignatureIsAmazons holds the server's side against the example of Amazon S3's API reference ("Signature
// Calculations for the Authorization Header: Transferring Payload in a Single Chunk", GET Object).
func TestSignatureIsAmazons(t *testing.T) {
	q, err := http.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Range": "bytes=0-9", "X-Amz-Date": "20130524T000000Z",
		"X-Amz-Content-Sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"} {
		q.Header.Set(name, value)
	}
	got := remotetest.Signature(q, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", []string{"20130524", "us-east-1", "s3", "aws4_request"},
		[]string{"host", "range", "x-amz-content-sha256", "x-amz-date"})
	if want := "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

// awsHome makes an empty home folder, with the files of ~/.aws, and an environment without variables of AWS.
func awsHome(t *testing.T, files map[string]string, variables map[string]string) {
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value)
			os.Unsetenv(name)
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for name, value := range variables {
		t.Setenv(name, value)
	}
	if err := os.Mkdir(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, ".aws", name), []byte(strings.ReplaceAll(text, "HOME", home)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestS3(t *testing.T) {
	key := remotetest.Credentials{AccessKey: "AKID", SecretKey: "s/e+c"}
	withToken := remotetest.Credentials{AccessKey: "AKID", SecretKey: "s/e+c", Token: "token="}
	env := func(more ...string) map[string]string {
		m := map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s/e+c"}
		for k := 0; k < len(more); k += 2 {
			m[more[k]] = more[k+1]
		}
		return m
	}
	const name = "a folder/x=1+ü(?).h5"
	data := content(300_000)
	for title, c := range map[string]struct {
		files, env map[string]string
		server     remotetest.Settings
		key        string // of the file; name if it is ""
		want       string // in the error
	}{
		"environment":          {env: env(), server: remotetest.Settings{Signed: key, Region: "us-east-1"}},
		"session token":        {env: env("AWS_SESSION_TOKEN", "token="), server: remotetest.Settings{Signed: withToken}},
		"region":               {env: env("AWS_REGION", "eu-west-3"), server: remotetest.Settings{Signed: key, Region: "eu-west-3"}},
		"region by the answer": {env: env(), server: remotetest.Settings{Signed: key, Region: "eu-west-3"}},
		"anonymous":            {},
		"anonymous by wish":    {env: env("AWS_NO_SIGN_REQUEST", "yes", "AWS_ACCESS_KEY_ID", "wrong")},
		"profile": {env: map[string]string{"AWS_PROFILE": "lab"}, server: remotetest.Settings{Signed: key, Region: "here"}, files: map[string]string{
			"credentials": "[default]\naws_access_key_id = other\naws_secret_access_key = x\n[lab]\naws_access_key_id = AKID\naws_secret_access_key = s/e+c\n",
			"config":      "[default]\nregion = there\n[profile lab]\nregion = here\n",
		}},
		"process": {server: remotetest.Settings{Signed: key}, files: map[string]string{
			"config": "[default]\ncredential_process = sh HOME/.aws/key.sh\n",
			"key.sh": `echo '{"Version":1,"AccessKeyId":"AKID","SecretAccessKey":"s/e+c"}'`,
		}},
		"denied":          {env: env("AWS_SECRET_ACCESS_KEY", "wrong"), server: remotetest.Settings{Signed: key}, want: "access denied (403 Forbidden: SignatureDoesNotMatch The message of SignatureDoesNotMatch.); the credentials found may not read it"},
		"anonymous not":   {server: remotetest.Settings{Signed: key}, want: "AccessDenied The message of AccessDenied.); the request was anonymous: set AWS_PROFILE, or AWS_ACCESS_KEY_ID"},
		"profile missing": {env: map[string]string{"AWS_PROFILE": "lab"}, server: remotetest.Settings{Signed: key}, want: "because profile lab has no credentials"},
		"no such key":     {env: env(), server: remotetest.Settings{Signed: key}, key: "y", want: "s3://bucket/y: no such file (404 Not Found: NoSuchKey"},
	} {
		t.Run(title, func(t *testing.T) {
			s := remotetest.NewServer(t, map[string][]byte{"bucket/" + name: data}, c.server)
			awsHome(t, c.files, c.env)
			t.Setenv("AWS_ENDPOINT_URL", s.URL)
			url := "s3://bucket/" + strings.ReplaceAll(name, "?", "%3F")
			if c.key != "" {
				url = "s3://bucket/" + c.key
			}
			f, err := remote.NewClient(quick).Open(t.Context(), url)
			switch {
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			case c.want == "" && err != nil:
				t.Error(err)
			case err == nil:
				wantRead(t, f, data, 100_000, 100_000)
				f.Close()
			}
		})
	}
}

// TestAddressesOfBuckets: on AWS a bucket is a part of the host's name; other servers have it in the path.
func TestAddressesOfBuckets(t *testing.T) {
	for title, c := range map[string]struct{ config, endpoint, region, name, want string }{
		"AWS":             {name: "s3://b/k/x.h5", want: "https://b.s3.us-east-1.amazonaws.com/k/x.h5"},
		"region":          {region: "cn-north-1", name: "s3://b/k", want: "https://b.s3.cn-north-1.amazonaws.com.cn/k"},
		"name with a dot": {name: "s3://b.c/k", want: "https://s3.us-east-1.amazonaws.com/b.c/k"},
		"path":            {config: "[default]\ns3 =\n  addressing_style = path\n", name: "s3://b/k", want: "https://s3.us-east-1.amazonaws.com/b/k"},
		"endpoint":        {endpoint: "http://minio:9000", name: "s3://b/k", want: "http://minio:9000/b/k"},
		"endpoint below":  {endpoint: "https://h/store/", name: "s3://b/k", want: "https://h/store/b/k"},
		"profile":         {config: "[default]\nendpoint_url = https://h\n", name: "s3://b/k", want: "https://h/b/k"},
		"service":         {config: "[default]\nendpoint_url = https://h\nservices = mine\n[services mine]\ns3 =\n  endpoint_url = https://s\n", name: "s3://b/k", want: "https://s/b/k"},
		"virtual":         {config: "[default]\ns3 =\n  addressing_style = virtual\n", endpoint: "https://h", name: "s3://b/k", want: "https://b.h/k"},
		"characters":      {name: "s3://b/a b+c=ü?.h5", want: "https://b.s3.us-east-1.amazonaws.com/a%20b%2Bc%3D%C3%BC%3F.h5"},
	} {
		t.Run(title, func(t *testing.T) {
			awsHome(t, map[string]string{"config": c.config}, map[string]string{"AWS_ENDPOINT_URL": c.endpoint, "AWS_REGION": c.region})
			if got, err := remote.AddressOf(c.name); got != c.want || err != nil {
				t.Errorf("got %s, error %v, want %s", got, err, c.want)
			}
		})
	}
	for _, config := range []string{"[default]\ns3 =\n  addressing_style = other\n", "[default\n"} {
		awsHome(t, map[string]string{"config": config}, nil)
		if _, err := remote.AddressOf("s3://b/k"); err == nil || !strings.Contains(err.Error(), filepath.Join(".aws", "config")) {
			t.Errorf("%q: error %v", config, err)
		}
	}
}
