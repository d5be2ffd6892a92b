package kernels

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/h5dnn/h5dnn/kernels/device/devicetest"
)

// twins are the structs that kernels are launched with, by their names in the device code.
var twins = map[string]any{
	"Cast": castArgs{}, "ChannelMap": mapArgs{}, "ChannelSums": sumsArgs{}, "Channels": channelArgs{}, "Conv": convArgs{},
	"Copy": copyArgs{}, "Draw": drawArgs{}, "Elementwise": loopArgs{}, "Fill": fillArgs{}, "FindInf": findInfArgs{}, "GradBias": gradBiasArgs{},
	"Labelled": labelledArgs{}, "LayerNorm": layerNormArgs{}, "Lines": linesArgs{}, "MaxGrad": maxGradArgs{}, "Norm": normArgs{}, "Parameter": parameterArgs{},
	"Pool": poolArgs{}, "PoolAxis": poolAxisArgs{}, "Product": productArgs{}, "Reduce": reduceArgs{}, "Rows": rowsArgs{},
	"Scatter": scatterArgs{}, "SquaredError": squaredErrorArgs{}, "Take": takeArgs{}, "Transpose": transposeArgs{}, "UnitAxis": unitArgs{}, "Update": updateArgs{}, "Where": whereArgs{}, "Vector": vector{},
	"Fault": Fault{},
}

// TestStructsAreThoseOfTheDeviceCode compares every offset.
func TestStructsAreThoseOfTheDeviceCode(t *testing.T) {
	for name, twin := range twins {
		devicetest.Check(t, name, twin)
	}
}

// TestEveryStructIsCompared finds the declarations of arguments in the sources.
func TestEveryStructIsCompared(t *testing.T) {
	files, err := filepath.Glob("*_cuda.go")
	if err != nil {
		t.Fatal(err)
	}
	compared := map[string]bool{}
	for _, twin := range twins {
		compared[reflect.TypeOf(twin).Name()] = true
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^type (\w+Args) struct`).FindAllSubmatch(text, -1) {
			if !compared[string(m[1])] {
				t.Errorf("%s: %s is not compared with the device code", file, m[1])
			}
		}
	}
}
