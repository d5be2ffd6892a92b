package nccl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/h5dnn/h5dnn/collective"
)

// greeting begins a request, which has the rank and the number of processes after it, little-endian, and the answer, which has the message.
const greeting = "h5dnn nccl 1\n"

const requestSize = len(greeting) + 8

// strayLimit is how long a connection that is no rank's may hold up the others.
const strayLimit = 2 * time.Second

// HandOut gives all ranks the message of rank 0, whose length they know, within a time limit. Rank 0 listens on the port of the address, and ignores
// connections that are not of a rank.
func (e Environment) HandOut(message []byte, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	if e.Rank > 0 {
		return e.ask(message, deadline)
	}
	_, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		return fmt.Errorf("nccl: listen on %s: %w", e.Address, err)
	}
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return fmt.Errorf("nccl: %w; another MASTER_PORT may be free", err)
	}
	defer listener.Close()
	listener.(*net.TCPListener).SetDeadline(deadline)
	for served := map[int]bool{}; len(served) < e.Size-1; {
		c, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("nccl: %d of %d ranks have come to %s within %v: %w", len(served)+1, e.Size, e.Address, limit, collective.ErrGroup)
		}
		if rank := e.answer(c, message); rank > 0 {
			served[rank] = true
		}
	}
	return nil
}

// answer sends message to the rank that has opened c, and returns its number, or 0 if no rank has.
func (e Environment) answer(c net.Conn, message []byte) int {
	defer c.Close()
	c.SetDeadline(time.Now().Add(strayLimit))
	request := make([]byte, requestSize)
	if _, err := io.ReadFull(c, request); err != nil || !bytes.HasPrefix(request, []byte(greeting)) {
		return 0
	}
	rank, size := binary.LittleEndian.Uint32(request[len(greeting):]), binary.LittleEndian.Uint32(request[len(greeting)+4:])
	if rank == 0 || rank >= uint32(e.Size) || size != uint32(e.Size) {
		return 0
	}
	if _, err := c.Write(append([]byte(greeting), message...)); err != nil {
		return 0
	}
	return int(rank)
}

// ask reads the message of rank 0, which may not be there yet.
func (e Environment) ask(message []byte, deadline time.Time) error {
	request := binary.LittleEndian.AppendUint32([]byte(greeting), uint32(e.Rank))
	request = binary.LittleEndian.AppendUint32(request, uint32(e.Size))
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := e.askOnce(request, message, deadline)
		if err == nil {
			return nil
		}
		if time.Until(deadline) < pause {
			return fmt.Errorf("nccl: rank %d has no answer of rank 0 at %s: %v: %w", e.Rank, e.Address, err, collective.ErrGroup)
		}
		time.Sleep(pause)
	}
}

func (e Environment) askOnce(request, message []byte, deadline time.Time) error {
	c, err := net.DialTimeout("tcp", e.Address, time.Until(deadline))
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(deadline)
	if _, err := c.Write(request); err != nil {
		return err
	}
	answer := make([]byte, len(greeting)+len(message))
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if !bytes.HasPrefix(answer, []byte(greeting)) {
		return fmt.Errorf("another program answers")
	}
	copy(message, answer[len(greeting):])
	return nil
}
