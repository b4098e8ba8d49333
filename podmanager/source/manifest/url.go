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

// URLConfig says where the manifest is and which node runs its pods. Experimental.
type URLConfig struct {
	// URL is an http or https address. It is part of the identity of the pods. Reports and log messages show it without
	// its user and its query.
	URL string
	// Header is sent with each request, but not to another host, scheme or port to which the server redirects.
	Header http.Header
	// NodeName, Objects, Strict: as in Config.
	NodeName string
	Objects  bool
	Strict   bool
	// Period is how often the manifest is requested, with a jitter of a tenth. 0 is 20 seconds, as in the kubelet; the
	// minimum is a second. After a failure the next request follows after a second. The delay doubles up to the period,
	// or is longer if the server asks for that.
	Period time.Duration
	// Timeout bounds one request, with all redirects and the body. 0 is 10 seconds.
	Timeout time.Duration
	// StateDir is a directory in which the last good answer is saved for the next process, as the file
	// manifest-url.json. It is created if it is missing. The file contains what the manifest contains, and only its
	// owner can read it. Empty: nothing is saved, and a restarted node has no pods until the server answers.
	StateDir string
	// Transport makes the requests, one at a time. A request must return when its context is done. nil is a transport
	// of net/http with the proxies of the environment.
	Transport http.RoundTripper
	// Clock is the time; nil is the real clock. Jitter returns numbers in [0,1) that spread the requests; nil is
	// random.
	Clock  clock.Clock
	Jitter func() float64
	// Log, Report and Resolved: as in Config.
	Log      *slog.Logger
	Report   func(Problem)
	Resolved func(source.Fault)
}

// URLSource is a source of static pods that fetches a manifest from a server: a Pod, a PodList or any number of
// documents, in YAML or JSON. Poll fetches once; Run fetches repeatedly. A second call of either must not run at the
// same time. Experimental.
type URLSource struct {
	cfg        URLConfig
	executor   executor.Executor
	fileConfig Config // used to parse the answer as a file
	fetcher    fetcher
	store      versionStore

	state   poll.State
	file    manifestFile
	loaded  bool // the state directory was read
	unsaved bool // the last good answer could not be saved
	faults  *activeFaults
}

var (
	_ source.FaultReporter = (*URLSource)(nil)
	_ source.PodLocator    = (*URLSource)(nil)
)

// Locate implements source.PodLocator. All pods come from the URL, which is shown without its secrets.
func (s *URLSource) Locate(types.UID) (path string, found bool) { return s.file.displayPath, true }

// Faults implements source.FaultReporter.
func (s *URLSource) Faults() source.Faults { return s.faults.countAndFirstSortedFaults() }

// FaultOf implements source.FaultReporter.
func (s *URLSource) FaultOf(uid types.UID) (source.Fault, bool) { return s.faults.faultOfPod(uid) }

// NewURL returns a URLSource. It makes no request, accesses no file and starts nothing. An error wraps ErrConfig and
// names every fault.
func NewURL(cfg URLConfig) (*URLSource, error) {
	if err := cfg.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	s := &URLSource{
		cfg:        cfg,
		executor:   executor.Over(cfg.Clock),
		fileConfig: Config{NodeName: cfg.NodeName, Objects: cfg.Objects, Strict: cfg.Strict, MaxMemory: maxMemory},
		fetcher:    newFetcher(&cfg),
		store:      versionStore{dir: cfg.StateDir, name: savedURLFile, source: cfg.URL},
	}
	s.faults = newActiveFaults(cfg.Report, cfg.Resolved, cfg.Log, s.executor.Now)
	s.file = manifestFile{path: cfg.URL, isURL: true, displayPath: redactURL(cfg.URL)}
	return s, nil
}

// Poll fetches the manifest once and returns all desired pods. It is the single step of Run. If the request fails, the
// error is ErrFetch, and the result is the snapshot of the last answer, which stays valid. Before the first answer that
// snapshot is empty. If ctx is done, the error is ctx.Err(). The first call loads the answer that an earlier process
// has saved.
func (s *URLSource) Poll(ctx context.Context) (source.Snapshot, error) {
	s.loadSavedAnswerOnce()
	deadline, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(s.cfg.Timeout))
	answer, body := s.fetcher.fetchManifest(deadline, s.state.ETag())
	cancel()
	if ctx.Err() != nil {
		return s.lastGoodOrIncompleteSnapshot(), ctx.Err()
	}
	meaning, err := s.state.HandleResponse(answer)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrFetch, err)
		s.storeAndReportIfNew(fetchFault, err, s.file.pods)
		return s.lastGoodOrIncompleteSnapshot(), err
	}
	s.faults.resolveIfActive(fetchFault)
	if meaning == poll.Changed {
		s.parseAndSaveBody(body)
	}
	return s.lastGoodOrIncompleteSnapshot(), nil
}

// parseAndSaveBody parses the body of an answer and reports its faults. It saves the body if the body is a new
// good version, or if the last save failed. If the save fails, it reports the error and forgets the ETag, so
// that the server sends the body again.
func (s *URLSource) parseAndSaveBody(body []byte) {
	before := s.file.good
	s.faults.storeAndReportFileFaults(&s.file, s.file.parseIfChanged(body, &s.fileConfig, maxMemory))
	if s.file.state != stateGood || s.file.good == before && !s.unsaved {
		return
	}
	err := s.store.saveAtomicallyIfDirSet(s.state.ETag(), body, s.file.legacyUIDs)
	if s.unsaved = err != nil; s.unsaved {
		s.state = poll.Resume("") // Without an ETag the server sends the body again, and it can be saved then.
		s.storeAndReportIfNew(saveFault, fmt.Errorf("%w: %w", ErrKeep, err), nil)
		return
	}
	s.faults.resolveIfActive(saveFault)
}

// loadSavedAnswerOnce loads the answer that an earlier process has saved, and its ETag for the next request.
// Only the first call does this. If the load fails, it reports the error, and the source has no pods until the
// server answers.
func (s *URLSource) loadSavedAnswerOnce() {
	if s.loaded {
		return
	}
	s.loaded = true
	saved, err := s.store.loadUnlessSavedForOtherURL()
	if err == nil && saved.Body != nil {
		s.file.legacyUIDs = saved.UIDs == legacyUIDs && bytes.Contains(saved.Body, []byte("PodList"))
		if err = s.file.loadSavedVersion(saved.Body, &s.fileConfig, maxMemory); errors.Is(err, ErrEmpty) {
			err = nil
		} else if err != nil {
			s.file = manifestFile{path: s.file.path, isURL: true, displayPath: s.file.displayPath, legacyUIDs: s.file.legacyUIDs} // An earlier version of this package could parse it.
		} else if s.file.newRuleErr != nil {
			s.faults.storeAndReportFileFaults(&s.file, s.file.problemIfUnreported(fmt.Sprintf("%x", s.file.good), s.file.newRuleErr))
		}
	}
	if err != nil {
		s.storeAndReportIfNew(saveFault, fmt.Errorf("%w: %w", ErrKeep, err), nil)
		return
	}
	s.state = poll.Resume(saved.ETag)
}

// hasAnswer reports whether this source has a manifest, valid or not, from the server or from an earlier
// process.
func (s *URLSource) hasAnswer() bool { return s.file.lastSeen != contentHash{} }

// lastGoodOrIncompleteSnapshot returns the pods of the last good answer of the server. The snapshot is incomplete
// if the server has answered but never with a good answer.
func (s *URLSource) lastGoodOrIncompleteSnapshot() source.Snapshot {
	return source.Snapshot{Pods: s.file.pods, Incomplete: s.file.lacksGoodVersion()}
}

// Run implements source.Source. It delivers the pods that an earlier process has saved. Then it fetches the manifest,
// delivers a snapshot if it differs from the last, and waits, until ctx is done. It always returns nil: failures are
// reported. It delivers nothing before the first answer, so a source whose server never answered does not count as
// seen.
func (s *URLSource) Run(ctx context.Context, sink source.Sink) error {
	var last *source.Snapshot
	deliver := func(now source.Snapshot) {
		if s.hasAnswer() && (last == nil || !isSameSnapshot(*last, now)) {
			last = &now
			sink.Set(now)
		}
	}
	s.loadSavedAnswerOnce()
	deliver(s.lastGoodOrIncompleteSnapshot())
	for ctx.Err() == nil {
		snapshot, err := s.Poll(ctx)
		if err == nil {
			deliver(snapshot)
		}
		if s.executor.Sleep(ctx, s.state.Delay(s.cfg.Period, s.cfg.Jitter())) != nil {
			break
		}
	}
	return nil
}

// storeAndReportIfNew stores a fault of this source, and reports it unless the previous fault with this key had
// the same text. pods are the pods that may differ from the manifest of the server.
func (s *URLSource) storeAndReportIfNew(key faultKey, err error, pods []*v1.Pod) {
	s.faults.storeAndReportIfNew(key, Problem{Path: s.file.displayPath, Kept: len(s.file.pods) > 0, Err: err}, pods)
}

// setDefaultsAndCheck sets the defaults, makes the node name lower case, and returns one error with all faults
// of the configuration.
func (c *URLConfig) setDefaultsAndCheck() error {
	done := contain.CheckConfigAs(ErrConfig)
	lowerAndCheckNodeName(done, &c.NodeName)
	address, err := url.Parse(c.URL)
	done.FaultIf(err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "", "URL: expected an address, as https://example.com/pods.yaml")
	contain.DefaultNumber(done, "Timeout", &c.Timeout, 10*time.Second)
	c.Period = cmp.Or(c.Period, 20*time.Second)
	done.FaultIf(c.Period < time.Second, "Period is less than a second")
	for name, values := range c.Header {
		for _, value := range values {
			done.FaultIf(len(k8svalidation.IsHTTPHeaderName(name)) > 0 || strings.ContainsAny(value, "\r\n\x00"), fmt.Sprintf("Header %s is not a valid header", plain.Quote(name)))
		}
	}
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	contain.SetDefault(&c.Jitter, rand.Float64)
	contain.SetDefault(&c.Report, func(Problem) {})
	contain.SetDefault(&c.Resolved, func(source.Fault) {})
	return done.Err()
}
