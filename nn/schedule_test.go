package nn_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
)

// TestSchedulesAgreeWithPyTorch compares the factors at each step of
// ten epochs of eight with PyTorch's schedulers (testdata/schedules.py).
func TestSchedulesAgreeWithPyTorch(t *testing.T) {
	text, err := os.ReadFile("testdata/schedules.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]float64
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) < 25 {
		t.Errorf("%d schedules in the fixture, want 25", len(want))
	}
	for description, factors := range want {
		s, err := nn.ScheduleFromConfig(json.RawMessage(description))
		if err != nil {
			t.Errorf("%s: %v", description, err)
			continue
		}
		for step, want := range factors {
			got := s.Factor(nn.Progress{Epoch: float64(step) / 8, Epochs: 10, StepsPerEpoch: 8})
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: factor %v at step %d, PyTorch %v", description, got, step, want)
			}
		}
		described, err := nn.DescribeSchedule(s)
		if err != nil {
			t.Errorf("%s: %v", description, err)
			continue
		}
		again, err := nn.ScheduleFromConfig(described)
		if err != nil {
			t.Errorf("%s: described as %v: %v", description, described, err)
			continue
		}
		for epoch := range 21 {
			at := nn.Progress{Epoch: float64(epoch) / 2, Epochs: 10, StepsPerEpoch: 8}
			if got, want := again.Factor(at), s.Factor(at); got != want {
				t.Errorf("%s: described as %v: factor %v at epoch %v, want %v", description, described, got, at.Epoch, want)
			}
		}
	}
}

func TestScheduleSettingsAreChecked(t *testing.T) {
	for _, description := range []string{
		`"cosin"`, `"step"`, `{"step": 0}`, `{"warmup": {"epochs": 1, "steps": 1}}`, `"warmup"`, `{"warmup": {"epochs": 1, "then": "cosin"}}`,
		`{"exponential": 0}`, `{"polynomial": -1}`, `"cosine_restarts"`, `{"cosine_restarts": {"t_0": 1, "t_mult": 0.5}}`, `"multi_step"`, `{"multi_step": {"milestones": [3, 1]}}`,
		`{"cyclic": {"mode": "square"}}`, `{"cyclic": {"up": -1}}`, `"table"`, `{"table": {"factors": [[2, 1], [1, 1]]}}`, `{"table": {"factors": [[0, -1]]}}`, `{"table": {"factors": [[0]]}}`, `{"one_cycle": {"pct_start": 1}}`, `{"linear": {"end": -1}}`,
	} {
		if _, err := nn.ScheduleFromConfig(json.RawMessage(description)); !errors.Is(err, nn.ErrConfig) {
			t.Errorf("%s: error %v, want one of kind %v", description, err, nn.ErrConfig)
		}
	}
}

// TestPlateauAgreesWithPyTorch after each epoch, saved and loaded between them.
func TestPlateauAgreesWithPyTorch(t *testing.T) {
	text, err := os.ReadFile("testdata/plateau.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][][2]float64
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != 3 {
		t.Errorf("%d schedules in the fixture, want 3", len(want))
	}
	for description, rows := range want {
		build := func() nn.EpochObserver {
			s, err := nn.ScheduleFromConfig(json.RawMessage(description))
			if err != nil {
				t.Fatal(err)
			}
			return s.(nn.EpochObserver)
		}
		s := build()
		for epoch, row := range rows {
			s.EndEpoch(row[0])
			if got := s.Factor(nn.Progress{}); math.Abs(got-row[1]) > 1e-12 {
				t.Errorf("%s: factor %v after epoch %d, PyTorch %v", description, got, epoch, row[1])
			}
			again := build()
			if err := again.(nn.Stateful).Load(s.(nn.Stateful).State()); err != nil {
				t.Fatal(err)
			}
			s = again
		}
	}
}
