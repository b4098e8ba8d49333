package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// said is the value of a flag, and where it was said: "--max-pods", or the field "maxPods" in a line
// of the configuration file.
type said struct {
	value, where string
	line         int // of the file; 0: on the command line
}

// setConfig notes the configuration file.
func (o *options) setConfig(path string) error {
	o.config = path
	if path == "" {
		return errors.New("expected a file")
	}
	return nil
}

// criFlags are the flags that have no effect on the runtime in memory.
var criFlags = []string{"cri-endpoint", "log-dir", "resolv-conf"}

// readConfig sets what a configuration file says. A field that has no effect on the runtime is a warning,
// whatever its value.
func (o *options) readConfig(flags flagSet, path string, usesCRI func(settings []fieldSetting) bool) error {
	text, err := readAtMost(path, maxConfig)
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err // The path is said.
	}
	if err != nil {
		return fmt.Errorf("--config %q: %w", path, err)
	}
	parsed, err := parseKubeletConfig(text)
	if err != nil {
		return named("--config "+path, err)
	}
	o.warnings = nil
	for _, warning := range parsed.warnings {
		o.warnings = append(o.warnings, path+": "+warning)
	}
	var faults []error
	memory := !usesCRI(parsed.settings)
	for _, s := range parsed.settings {
		if memory && slices.Contains(criFlags, s.flag) {
			o.warnings = append(o.warnings, fmt.Sprintf("%s: line %d: %s has no effect on the runtime in memory", path, s.line, s.field))
			continue
		}
		if slices.Contains([]string{"manifests", "resolv-conf", "log-dir"}, s.flag) && s.value != "" && !filepath.IsAbs(s.value) {
			s.value = filepath.Join(filepath.Dir(path), s.value) // As in a kubelet.
		}
		if err := flags.find(s.flag).set(s.value); err != nil {
			faults = append(faults, fmt.Errorf("--config %s: line %d: %s %q: %w", path, s.line, s.field, strings.TrimSpace(s.value), err))
		}
		o.said[s.flag] = said{s.value, s.field, s.line}
	}
	return errors.Join(faults...)
}

// flagName names a flag as it was said: by its name, or by the field of the configuration file.
func (o *options) flagName(flag string) string {
	if at := o.said[flag]; at.line > 0 {
		return fmt.Sprintf("--config %s: line %d: %s", o.config, at.line, at.where)
	}
	return dashed(flag)
}

// noEffectError returns an error about a flag that has no effect. It returns nil for a field of the
// configuration file, which becomes a warning: a kubelet may read the same file.
func (o *options) noEffectError(flag, without string) error {
	at := o.said[flag]
	if at.line == 0 {
		return fmt.Errorf("%s has no effect without %s", dashed(flag), without)
	}
	o.warnings = append(o.warnings, fmt.Sprintf("%s: line %d: %s has no effect without %s", o.config, at.line, at.where, without))
	return nil
}

// hotFlags are those flags that a running agent can change.
var hotFlags = []string{"manifests", "manifest-period", "manifest-url", "manifest-url-header", "manifest-url-period"}

// difference is what the configuration says now that it did not before: hot is what a running
// agent can change, and cold names what needs a restart.
func difference(before, now map[string]said) (hot, cold []string) {
	all := maps.Clone(before)
	maps.Copy(all, now)
	for _, flag := range slices.Sorted(maps.Keys(all)) {
		switch {
		case before[flag].value == now[flag].value && (before[flag].where == "") == (now[flag].where == ""):
		case slices.Contains(hotFlags, flag):
			hot = append(hot, flag)
		default:
			cold = append(cold, cmp.Or(now[flag].where, before[flag].where))
		}
	}
	return hot, cold
}

// warn logs what a configuration file has without effect.
func (a *agent) warn(warnings []string) {
	for _, warning := range warnings {
		a.log.Warn("the configuration file has what this agent does not do", "field", warning)
	}
}

// reload reads the configuration again. A bad file changes nothing, and what cannot be changed
// while the agent runs is named.
func (a *agent) reload() {
	next, err := parse(a.args)
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			a.log.Error("the configuration cannot be read; everything stays as it was", "fault", line)
		}
		return
	}
	a.warn(next.warnings)
	hot, cold := difference(a.said, next.said)
	for _, field := range cold {
		a.log.Warn("a change of the configuration needs a restart of the agent", "field", field)
	}
	if err := a.change(&next, hot); err != nil {
		a.log.Error("the configuration cannot be used; everything stays as it was", "err", err)
		return
	}
	for _, flag := range hotFlags {
		delete(a.said, flag)
		if s, ok := next.said[flag]; ok {
			a.said[flag] = s
		}
	}
	a.log.Info("the configuration was read again", "changed", len(hot), "restart", len(cold))
}

// listenForReloads reads the configuration file again at each SIGHUP, until the function that
// it returns is called. Without such a file SIGHUP ends the process, as it always has.
func (a *agent) listenForReloads(ctx context.Context) (stop func()) {
	if a.config == "" {
		return func() {}
	}
	ctx, end := context.WithCancel(ctx)
	hangups, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer close(over)
		read := func() string {
			text, _ := readAtMost(a.config, maxConfig) // What is wrong is said when it is parsed.
			return string(text)
		}
		pause := func() bool {
			select {
			case <-time.After(writePeriod):
				return true
			case <-ctx.Done():
				return false
			}
		}
		for {
			select {
			case <-hangups:
				if written(read, pause) {
					a.reload()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { signal.Stop(hangups); end(); <-over }
}

const (
	// writePeriod is how long a file has to stay as it is to be taken for whole, and
	// mostWrites how often it may change until it is read all the same.
	writePeriod = 200 * time.Millisecond
	mostWrites  = 25
)

// written waits until a file does not change any more: half of one may be valid, and would end
// the pods of a source that it does not name yet. It is false if there is no time to wait.
func written(read func() string, pause func() bool) bool {
	before := read()
	for range mostWrites {
		if !pause() {
			return false
		}
		now := read()
		if now == before {
			break
		}
		before = now
	}
	return true
}

// change replaces the sources of which something has changed. In everything else the new ones
// are as the agent runs: node name, state directory and objects are cold.
func (a *agent) change(latest *options, hot []string) error {
	web := func(flag string) bool { return strings.HasPrefix(flag, "manifest-url") }
	next := a.options
	next.manifests, next.filePeriod = latest.manifests, latest.filePeriod
	next.manifestURL, next.urlHeader, next.urlPeriod = latest.manifestURL, latest.urlHeader, latest.urlPeriod
	files, err := next.fileSource(a.log)
	if err != nil {
		return err
	}
	server, err := next.urlSource(a.log)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(hot, func(flag string) bool { return !web(flag) }) {
		a.files.set(files)
	}
	if slices.ContainsFunc(hot, web) {
		a.web.set(server)
	}
	return nil
}
