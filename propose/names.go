package propose

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
)

// A vocabulary is a set of words that names of arrays are made of.
type vocabulary []string

func list(text string) vocabulary { return strings.Fields(text) }

// The words that tell the role of an array. A name is compared in lower case, word by word.
var (
	inputWords    = list("x images image imgs img data features feature inputs input obs observations observation signals signal frames spectra spectrum waveforms waveform ecg eeg emg audio patches photos scans volumes volume cube points")
	nextWords     = list("next")
	targetWords   = list("y label labels target targets class classes gt truth groundtruth annotation annotations outcome response actions action")
	subjectWords  = list("celltype type category diagnosis disease condition species phase activity emotion genre outcome grade stage sentiment truth signal attribute attributes melanoma tumor tumour defect fault anomaly digit gesture letter tags findings votes phenotype quality survived survival mortality died death churn default fraud spam relapse readmission")
	valueWords    = list("price value score energy yield rate angle force steering temperature pressure concentration distance dose affinity ratio count weight power load demand")
	maskWords     = list("mask masks seg segmentation segmentations labels label gt truth annotation annotations")
	mapWords      = list("depth depths disparity flow height elevation density heatmap heatmaps")
	tokenWords    = list("tokens token ids words word text texts sequence sequences seq seqs dna rna protein sentence sentences")
	nuisanceWords = list("good bad keep usable include exclude batch run site year month day date sex gender age plate well scanner hospital donor time lat latitude lon longitude")

	identifierWords = list("id ids index idx key uuid guid uid hash barcode barcodes name names filename filenames file path paths url number num no row event timestamp")
	groupWords      = list("patient subject participant person user donor individual animal mouse session recording episode trial trajectory group groups cluster family household customer site region country speaker video clip slide specimen well plate")
	identityWords   = list("speaker identity") // groups that are classes where there are no others
	runWords        = list("run runs lumi lumiblock luminosity")
	weightWords     = list("weight weights weighting")
	lengthWords     = list("length lengths len lens nframes duration durations")
	coordinateWords = list("time times t lat latitude lon longitude x y z depth level height frequency frequencies freq freqs wavelength wavelengths energy energies wavenumber mz q angle angles theta two ppm dates date steps")
	errorWords      = list("error errors err errs uncertainty uncertainties stderr variance variances sigma")
	rewardWords     = list("reward rewards return returns done dones terminal terminals terminated truncated timeout timeouts")
	foldWords       = list("fold folds cv kfold")
	splitWords      = list("split splits subset partition part set ttv usage")

	// trainWords and validationWords are the words that train knows.
	trainWords      = vocabulary(dataconfig.TrainingWords)
	validationWords = vocabulary(dataconfig.ValidationWords)
	testWords       = list("test testing")
	heldOutWords    = slices.Concat(validationWords, testWords)

	signalWords = list("ecg eeg emg eog meg ppg lfp signal signals wave waves waveform waveforms audio imu accel acceleration accelerometer gyro gyroscope sensor sensors trace traces epochs lead leads recording recordings timeseries series mfcc frames spectrum spectra intensity seismogram seismograms")
	imageWords  = list("image images img imgs photo photos picture pictures frame scan scans patch patches pixel pixels mnist slice slices radiograph radiographs spectrogram spectrograms")
	volumeWords = list("volume volumes vol vols flair voxel voxels ct mri nifti")
	timeAxes    = list("time times t sample samples step steps frame frames wavelength frequency freq energy two_theta theta q mz")
	channelAxes = list("channel channels chan c lead leads band bands feature features sensor sensors electrode electrodes electrode_name")
	heightAxes  = list("y lat latitude row rows height h ny")
	widthAxes   = list("x lon longitude column columns col cols width w nx")
)

// wordsOf splits a name at signs, digits and capitals, in lower case: XTrain_2 is x, train.
func wordsOf(name string) []string {
	var words []string
	word := []rune{}
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			end()
			continue
		}
		if i > 0 && unicode.IsUpper(r) && unicode.IsLower(runes[i-1]) {
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// baseOf returns the name that ends a path, also of a member of a compound.
func baseOf(p string) string {
	if i := strings.LastIndex(p, "['"); i >= 0 && strings.HasSuffix(p, "']") {
		return p[i+2 : len(p)-2]
	}
	return path.Base(p)
}

// parentOf returns the path of the group, or of the compounds, that hold an array.
func parentOf(p string) string {
	if i := strings.LastIndex(p, "['"); i >= 0 {
		return p[:i]
	}
	return path.Dir(p)
}

// named reports whether the last name of a path has a word of v.
func (v vocabulary) named(p string) bool { return v.among(wordsOf(baseOf(p))) }

// within reports whether any name of a path has a word of v.
func (v vocabulary) within(p string) bool { return v.among(wordsOf(p)) }

// is reports whether the last name of a path is a word of v, but for words of sides.
func (v vocabulary) is(p string) bool {
	words := slices.DeleteFunc(wordsOf(baseOf(p)), func(w string) bool {
		return slices.Contains(trainWords, w) || slices.Contains(heldOutWords, w)
	})
	return len(words) > 0 && slices.Contains(v, strings.Join(words, "")) || len(words) == 1 && slices.Contains(v, words[0])
}

func (v vocabulary) among(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(v, w) })
}
