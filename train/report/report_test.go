package report_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/train/report"
)

const hostile = `</script><script>document.title="run"</script><img src=x onerror=alert(1)>`

// whole is a report with all parts, and hostile names in each of them.
func whole() report.Report {
	image := make([]float64, 64)
	for i := range image {
		image[i] = float64(i)
	}
	return report.Report{
		Title: hostile, Facts: []report.Fact{{Name: "epochs", Value: hostile}},
		Curves:  []report.Curve{{Name: "loss" + hostile, Series: []report.Series{{Name: "training", Values: []float64{100, 10, 1}}, {Name: hostile, Values: []float64{math.NaN(), 20, math.Inf(1)}}}}},
		Classes: []string{"cat", hostile}, Matrix: [][]float64{{3, 1}, {0, 0}},
		Worst:    []report.Sample{{Number: 7, Loss: 2.5, Target: "cat", Predicted: hostile, Picture: report.Picture(image, []int{8, 8})}, {Number: 8, Loss: 2, Numbers: []float64{1.5, -2}}},
		Times:    []report.Time{{Name: "step", Took: 2 * time.Second}, {Name: "decoding", Took: time.Second}},
		Settings: "model: " + hostile, Missing: []string{hostile},
	}
}

// written returns the page of a report.
func written(t testing.TB, r report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Example writes a page about a run of two epochs.
func Example() {
	var page strings.Builder
	err := report.Write(&page, report.Report{Title: "run.h5", Curves: []report.Curve{{Name: "loss", Series: []report.Series{{Name: "training", Values: []float64{2, 1}}}}}})
	fmt.Println(err, strings.Contains(page.String(), "<h1>run.h5</h1>"))
	// Output: <nil> true
}

// TestPageHasItsParts: sections, rows of the matrix, bars of times, pictures that decode, and the numbers of other samples;
// names are text only, and nothing is loaded from elsewhere.
func TestPageHasItsParts(t *testing.T) {
	page := written(t, whole())
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d scripts in the page, want its own 2", n)
	}
	scripts := regexp.MustCompile(`(?s)<(script|style)>.*?</(script|style)>`)
	d := xml.NewDecoder(strings.NewReader(scripts.ReplaceAllString(page, "")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	elements, ids, text := map[string]int{}, map[string]bool{}, ""
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.CharData:
			text += string(e)
		case xml.StartElement:
			elements[e.Name.Local]++
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "id":
					ids[a.Value] = true
				case "src":
					checkPicture(t, a.Value)
				case "href", "onerror":
					t.Errorf("<%s %s=%q> in the page", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
	for _, id := range []string{"facts", "missing", "curves", "log-x", "log-y", "panels", "times", "confusion", "worst", "settings"} {
		if !ids[id] {
			t.Errorf("no %s in the page", id)
		}
	}
	if elements["img"] != 1 || elements["tr"] != 2+3 || elements["li"] != 2+1 || elements["code"] != 1 {
		t.Errorf("elements %v", elements)
	}
	for _, part := range []string{"sample 7, loss 2.5", "1.5 -2", "2.00 s", hostile} {
		if !strings.Contains(text, part) {
			t.Errorf("no text %q in the page", part)
		}
	}
	short := written(t, report.Report{Title: "run.h5"})
	for _, id := range []string{"confusion", "worst", "times", "missing"} {
		if strings.Contains(short, `id="`+id) {
			t.Errorf("an empty part %s in the page", id)
		}
	}
}

func checkPicture(t *testing.T, source string) {
	t.Helper()
	data, ok := strings.CutPrefix(source, "data:image/png;base64,")
	if !ok || len(data) < 50 {
		t.Errorf("an image from %.80q", source)
	}
}

// TestPictures: channels first and last give the same picture, between the smallest and the largest element.
func TestPictures(t *testing.T) {
	first, last := make([]float64, 3*20), make([]float64, 3*20)
	for k := range 20 {
		for c := range 3 {
			x := float64(20*c + k)
			first[c*20+k], last[3*k+c] = x, x
		}
	}
	a, b := report.Picture(first, []int{3, 4, 5}), report.Picture(last, []int{4, 5, 3})
	if a == nil || b == nil || !bytes.Equal(a.Pix, b.Pix) || a.Pix[0] != 0 || a.Pix[len(a.Pix)-2] != 255 || a.Bounds().Dx() != 5 {
		t.Errorf("channels first %v, last %v", a, b)
	}
	for _, shape := range [][]int{{20}, {2, 10}, {5, 2, 2}, {1, 1, 20}} {
		if report.Picture(first[:20], shape) != nil {
			t.Errorf("a picture of shape %v", shape)
		}
	}
}

// TestChromiumDrawsThePage: the curves are drawn, a logarithmic axis has other marks, names run nothing, and a screenshot has
// their colours.
func TestChromiumDrawsThePage(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no Chromium to draw the page: %v", err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "report.html")
	if err := os.WriteFile(file, []byte(written(t, whole())), 0o666); err != nil {
		t.Fatal(err)
	}
	browse := func(args ...string) string {
		command := exec.Command(chromium, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,1600", "--user-data-dir=" + filepath.Join(folder, "profile")}, args...)...)
		out, err := command.Output()
		if err != nil {
			t.Skipf("Chromium does not run here: %v", err)
		}
		return string(out)
	}
	linear, log := browse("--dump-dom", "file://"+file), browse("--dump-dom", "file://"+file+"#log-y")
	for name, part := range map[string]string{"a panel": "<svg", "a curve": "<path d=\"M", "a mark": ">50.5</text>"} {
		if !strings.Contains(linear, part) {
			t.Errorf("the page has no %s:\n%s", name, linear)
		}
	}
	if !strings.Contains(log, ">10.0</text>") || strings.Contains(log, ">50.5</text>") {
		t.Errorf("the marks of a logarithmic axis from 1 to 100 are not 1, 3.16, 10, …:\n%s", log)
	}
	if strings.Contains(linear, "<title>run</title>") {
		t.Error("a name ran as a script")
	}
	shot := filepath.Join(folder, "shot.png")
	browse("--screenshot="+shot, "file://"+file)
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	image, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	blue, red := 0, 0 // of the two curves
	for y := range image.Bounds().Dy() {
		for x := range image.Bounds().Dx() {
			switch r, g, b, _ := image.At(x, y).RGBA(); [3]uint32{r >> 8, g >> 8, b >> 8} {
			case [3]uint32{0x1f, 0x77, 0xb4}:
				blue++
			case [3]uint32{0xd6, 0x27, 0x28}:
				red++
			}
		}
	}
	if blue < 1000 || red < 5 {
		t.Errorf("%d blue and %d red points in the screenshot; want curves, bars and a full cell of the matrix", blue, red)
	}
}
