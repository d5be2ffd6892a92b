package remote

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A statusError is an answer that is not the bytes asked for. It is of kind fs.ErrNotExist, fs.ErrPermission, or
// of none.
type statusError struct {
	code  int
	text  string
	after time.Duration // the time that the server asks to wait
}

func (e *statusError) Error() string { return e.text }

func (e *statusError) Unwrap() error {
	switch e.code {
	case http.StatusNotFound, http.StatusGone:
		return fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return fs.ErrPermission
	}
	return nil
}

// failed returns the error that an answer is. advice says what to do where access is denied.
func failed(r *http.Response, advice string) *statusError {
	text := fmt.Sprintf("%d %s", r.StatusCode, http.StatusText(r.StatusCode))
	if said := reason(r); said != "" {
		text += ": " + said
	}
	e := &statusError{code: r.StatusCode}
	switch r.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		e.text = fmt.Sprintf("no such file (%s)", text)
	case http.StatusUnauthorized, http.StatusForbidden:
		e.text = fmt.Sprintf("access denied (%s)%s", text, advice)
	default:
		e.text = fmt.Sprintf("the server answers %s", text)
	}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.after = time.Duration(seconds) * time.Second
	}
	return e
}

// reason returns the code and the message of an error of S3, in one line, or "".
func reason(r *http.Response) string {
	const most = 4 << 10
	body, _ := io.ReadAll(io.LimitReader(r.Body, most)) // only a detail
	var said struct{ Code, Message string }
	if xml.Unmarshal(body, &said) != nil || said.Code == "" {
		return ""
	}
	return strings.Join(strings.Fields(said.Code+" "+said.Message), " ")
}

// withoutURL returns the cause of an error of package net/http, without the method and the URL, whose query may
// hold a signature. The name of the file is added by callers.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
