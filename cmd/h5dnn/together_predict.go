//go:build cgo

package main

import (
	"sync"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/train"
)

// sharedPredictions are predictions that the processes of a group compute together. The first asks for rows, of which each
// computes a part.
type sharedPredictions struct {
	group   collective.Group // nil if there is one process
	sources []*predictionSource
	lock    sync.Mutex
}

// read returns rows [begin, end) of a source, computed by all processes.
func (s *sharedPredictions) read(source, begin, end int) ([]byte, error) {
	if s.group == nil {
		return s.sources[source].compute(begin, end)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if _, err := s.ask([]int64{int64(source), int64(begin), int64(end)}); err != nil {
		return nil, err
	}
	return s.answer(source, begin, end)
}

// ask tells all processes which rows are wanted; nil asks for none and ends their serving.
func (s *sharedPredictions) ask(mine []int64) ([]int64, error) {
	all, err := collective.Gather(s.group, dtype.Bytes(mine))
	if err != nil {
		return nil, err
	}
	return dtype.Cast[int64](all[0]), nil
}

// answer computes this process's part of rows, and returns all of them in the first. Parts begin where a batch does in one process, so that all
// batches are alike.
func (s *sharedPredictions) answer(source, begin, end int) ([]byte, error) {
	p := s.sources[source]
	batches, n := (end-begin+train.PredictBatch-1)/train.PredictBatch, s.group.Size()
	cut := func(rank int) int { return min(end, begin+batches*rank/n*train.PredictBatch) }
	mine, err := p.compute(cut(s.group.Rank()), cut(s.group.Rank()+1))
	if err != nil {
		s.group.Abort(err)
		return nil, err
	}
	var rows []byte // in the first process
	send, receive := make([][]byte, n), make([][]byte, n)
	if send[0] = mine; first() {
		rows = make([]byte, (end-begin)*p.rowBytes())
		for rank := range n {
			receive[rank] = rows[(cut(rank)-begin)*p.rowBytes() : (cut(rank+1)-begin)*p.rowBytes()]
		}
	}
	return rows, collective.Exchange(s.group, send, receive)
}

// serve computes parts of rows until the first process ends.
func (s *sharedPredictions) serve() error {
	for {
		wanted, err := s.ask(nil)
		if err != nil || len(wanted) == 0 {
			return err
		}
		if _, err := s.answer(int(wanted[0]), int(wanted[1]), int(wanted[2])); err != nil {
			return err
		}
	}
}

// end ends the serving of the other processes.
func (s *sharedPredictions) end() error {
	if s.group == nil {
		return nil
	}
	_, err := s.ask(nil)
	return err
}
