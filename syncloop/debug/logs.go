package debug

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// LogReader is the part of node.Containers that /logs uses. Its methods are called concurrently.
type LogReader interface {
	ContainerFinder
	runtime.LogReader
}

// logHandler returns the handler of /logs, which streams the log of the container in the path. It responds with
// 400 to an invalid query, and does not follow the log for HEAD.
func logHandler(logs LogReader) http.HandlerFunc {
	readers := &streamer{finder: logs, gate: respond.Gate{Most: maxLogReaders}}
	return func(w http.ResponseWriter, r *http.Request) {
		req, previous, err := parseLogQuery(r.URL.Query(), time.Now())
		if err != nil {
			respond.WriteText(w, http.StatusBadRequest, err.Error()+"\n")
			return
		}
		req.Follow = req.Follow && r.Method != http.MethodHead // A response to HEAD has no body.
		readers.streamFromContainer(w, r, previous, func(id string, out io.Writer) error {
			req.ContainerID = id
			return logs.ReadLog(r.Context(), req, out)
		})
	}
}

// parseLogQuery parses the query of /logs: follow, previous, tail and since. previous selects the container
// before the present one. It returns an error for an invalid value.
func parseLogQuery(q url.Values, now time.Time) (req runtime.ReadLogRequest, previous bool, err error) {
	if req.Follow, err = parseFlag(q, "follow"); err != nil {
		return req, false, err
	}
	if previous, err = parseFlag(q, "previous"); err != nil {
		return req, false, err
	}
	if tail := q.Get("tail"); tail != "" {
		if req.Tail, err = strconv.Atoi(tail); err != nil || req.Tail <= 0 {
			return req, false, fmt.Errorf("tail is a number of lines above 0, not %.40q", tail)
		}
	}
	if since := q.Get("since"); since != "" {
		if req.Since, err = parseTimeOrAge(since, now); err != nil {
			return req, false, err
		}
	}
	return req, previous, nil
}

// parseFlag returns the value of a flag in the query. A flag without a value is true, and an absent flag is
// false. It returns an error for a value that is no boolean.
func parseFlag(q url.Values, name string) (bool, error) {
	if value := q.Get(name); value != "" {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return false, fmt.Errorf("%s is true or false, not %.40q", name, value)
		}
		return b, nil
	}
	return q.Has(name), nil
}

// parseTimeOrAge parses a time, or a duration. For a duration it returns the time that lies this long before
// now. It returns an error if s is neither, or is a negative duration.
func parseTimeOrAge(s string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return at, fmt.Errorf("since is a duration such as 10m or a time such as 2006-01-02T15:04:05Z, not %.40q", s)
	}
	return at, nil
}
