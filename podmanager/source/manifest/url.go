package manifest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	k8svalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest/internal/poll"
)

// URLConfig says where the manifest is and whose pods it has. Experimental.
type URLConfig struct {
	// URL is an http or https address. It is part of the identity of the pods. Reports and
	// the log have it without its user and its query.
	URL string
	// Header is sent with each request, but not to another host, scheme or port to which
	// the server redirects.
	Header http.Header
	// NodeName, Objects, Strict: as in Config.
	NodeName string
	Objects  bool
	Strict   bool
	// Period is how often the server is asked, give or take a tenth. 0 is 20 seconds, as in
	// the kubelet; the least is a second. After a failure the server is asked again
	// after a second, which is doubled up to the period, or when it says.
	Period time.Duration
	// Timeout bounds one request, with all redirects and the body. 0 is 10 seconds.
	Timeout time.Duration
	// StateDir is a directory in which the last good answer is kept for the next process, as
	// the file manifest-url.json; it is made if it is missing. The file has what the
	// manifest has: only its owner can read it. Empty: nothing is kept, and a node that
	// is restarted knows no pods until the server answers.
	StateDir string
	// Transport makes the requests, one at a time; it must end with their context. nil is
	// one of net/http with the proxies of the environment.
	Transport http.RoundTripper
	// Clock is the time. nil is the real one. Jitter gives numbers in [0,1) that spread
	// requests; nil is random.
	Clock  clock.Clock
	Jitter func() float64
	// Log, Report and Resolved: as in Config.
	Log      *slog.Logger
	Report   func(Problem)
	Resolved func(source.Fault)
}

// URLSource is a manifest that a server has, as a source of static pods: a Pod, a PodList or
// any number of documents, in YAML or JSON. Poll asks once; Run keeps asking. Neither may be
// called concurrently with itself or the other. Experimental.
type URLSource struct {
	cfg      URLConfig
	executor executor.Executor
	files    Config // with which the answer is read as a file is
	fetch    fetcher
	keep     keeper

	state   poll.State
	file    file
	resumed bool // the state directory has been read
	unsaved bool // the last good answer could not be kept
	faults  *standing
}

var (
	_ source.FaultReporter = (*URLSource)(nil)
	_ source.PodLocator    = (*URLSource)(nil)
)

// Locate implements source.PodLocator: all pods are of the URL, which is shown without its secrets.
func (s *URLSource) Locate(types.UID) (path string, found bool) { return s.file.shown, true }

// Faults implements source.FaultReporter.
func (s *URLSource) Faults() source.Faults { return s.faults.faults() }

// FaultOf implements source.FaultReporter.
func (s *URLSource) FaultOf(uid types.UID) (source.Fault, bool) { return s.faults.of(uid) }

// NewURL makes a URLSource. It makes no request, touches no file and starts nothing. An error
// is ErrConfig and names every fault.
func NewURL(cfg URLConfig) (*URLSource, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &URLSource{
		cfg:      cfg,
		executor: executor.Over(cfg.Clock),
		files:    Config{NodeName: cfg.NodeName, Objects: cfg.Objects, Strict: cfg.Strict, MaxMemory: maxMemory},
		fetch:    newFetcher(&cfg),
		keep:     keeper{dir: cfg.StateDir, name: keptURL, of: cfg.URL},
	}
	s.faults = newStanding(cfg.Report, cfg.Resolved, cfg.Log, s.executor.Now)
	s.file = file{path: cfg.URL, url: true, shown: shownURL(cfg.URL)}
	return s, nil
}

// Poll asks the server once and returns all desired pods. It is the single step of Run. An
// error is ErrFetch, with the snapshot of the last answer, which still holds (or an empty one
// that says nothing, if there has been none), or the context's. The first call reads the
// answer that an earlier process has kept.
func (s *URLSource) Poll(ctx context.Context) (source.Snapshot, error) {
	s.resume()
	deadline, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(s.cfg.Timeout))
	answer, body := s.fetch.get(deadline, s.state.ETag())
	cancel()
	if ctx.Err() != nil {
		return s.snapshot(), ctx.Err()
	}
	meaning, err := s.state.HandleResponse(answer)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrFetch, err)
		s.tellOnce(aboutFetch, err, s.file.pods)
		return s.snapshot(), err
	}
	s.faults.end(aboutFetch)
	if meaning == poll.Changed {
		s.take(body)
	}
	return s.snapshot(), nil
}

// take takes in a body.
func (s *URLSource) take(body []byte) {
	before := s.file.good
	s.faults.see(&s.file, s.file.look(body, &s.files, maxMemory))
	if s.file.state != fine || s.file.good == before && !s.unsaved {
		return
	}
	err := s.keep.save(s.state.ETag(), body, s.file.formerUIDs)
	if s.unsaved = err != nil; s.unsaved {
		s.state = poll.Resume("") // So that the body comes again, and can be saved then.
		s.tellOnce(aboutKeep, fmt.Errorf("%w: %w", ErrKeep, err), nil)
		return
	}
	s.faults.end(aboutKeep)
}

// resume takes in, once, what an earlier process has kept.
func (s *URLSource) resume() {
	if s.resumed {
		return
	}
	s.resumed = true
	was, err := s.keep.load()
	if err == nil && was.Body != nil {
		s.file.formerUIDs = was.UIDs == formerUIDs && bytes.Contains(was.Body, []byte("PodList"))
		if err = s.file.loadKept(was.Body, &s.files, maxMemory); errors.Is(err, ErrEmpty) {
			err = nil
		} else if err != nil {
			s.file = file{path: s.file.path, url: true, shown: s.file.shown, formerUIDs: s.file.formerUIDs} // Another version of this package has read it.
		} else if s.file.outdated != nil {
			s.faults.see(&s.file, s.file.problem(fmt.Sprintf("%x", s.file.good), s.file.outdated))
		}
	}
	if err != nil {
		s.tellOnce(aboutKeep, fmt.Errorf("%w: %w", ErrKeep, err), nil)
		return
	}
	s.state = poll.Resume(was.ETag)
}

// known reports whether there has been an answer with a manifest, good or bad.
func (s *URLSource) known() bool { return s.file.known != sum{} }

// snapshot is what the last answer has.
func (s *URLSource) snapshot() source.Snapshot {
	return source.Snapshot{Pods: s.file.pods, Incomplete: s.file.blind()}
}

// Run implements source.Source: it hands over what an earlier process has kept, asks the
// server, hands over a snapshot if it differs from the last, and waits. It returns nil when
// ctx ends. Trouble is reported and never returned. Until there is a first answer nothing is
// handed over, so a server that never answered is a source that has not been heard.
func (s *URLSource) Run(ctx context.Context, sink source.Sink) error {
	var last *source.Snapshot
	hand := func(now source.Snapshot) {
		if s.known() && (last == nil || !same(*last, now)) {
			last = &now
			sink.Set(now)
		}
	}
	s.resume()
	hand(s.snapshot())
	for ctx.Err() == nil {
		snapshot, err := s.Poll(ctx)
		if err == nil {
			hand(snapshot)
		}
		if s.executor.Sleep(ctx, s.state.Delay(s.cfg.Period, s.cfg.Jitter())) != nil {
			break
		}
	}
	return nil
}

// tellOnce reports trouble that stands, unless the last one about the same was the same. The pods
// are those that may not be as their author wants them.
func (s *URLSource) tellOnce(what about, err error, pods []*v1.Pod) {
	s.faults.tellOnce(what, Problem{Path: s.file.shown, Kept: len(s.file.pods) > 0, Err: err}, pods)
}

// complete fills in the defaults and names every fault.
func (c *URLConfig) complete() error {
	done := contain.CheckConfigAs(ErrConfig)
	completeNodeName(done, &c.NodeName)
	address, err := url.Parse(c.URL)
	done.FaultIf(err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "", "URL: expected an address, as https://example.com/pods.yaml")
	contain.DefaultNumber(done, "Timeout", &c.Timeout, 10*time.Second)
	c.Period = cmp.Or(c.Period, 20*time.Second)
	done.FaultIf(c.Period < time.Second, "Period is less than a second")
	for name, values := range c.Header {
		for _, value := range values {
			done.FaultIf(len(k8svalidation.IsHTTPHeaderName(name)) > 0 || strings.ContainsAny(value, "\r\n\x00"), fmt.Sprintf("Header %s is no header", plain.Quote(name)))
		}
	}
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	contain.SetDefault(&c.Jitter, rand.Float64)
	contain.SetDefault(&c.Report, func(Problem) {})
	contain.SetDefault(&c.Resolved, func(source.Fault) {})
	return done.Err()
}
