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

// flagSource is the value of a flag and where it was set: by "--max-pods", or by the field "maxPods" in a line of the
// configuration file.
type flagSource struct {
	value, name string
	line        int // in the file; 0 on the command line
}

// setConfig stores the path of the configuration file. It returns an error if the path is empty.
func (o *options) setConfig(path string) error {
	o.config = path
	if path == "" {
		return errors.New("expected a file")
	}
	return nil
}

// criFlags are the flags that have no effect on the in-memory runtime.
var criFlags = []string{"cgroup-driver", "cri-endpoint", "log-dir", "resolv-conf"}

// applyConfigFile reads a KubeletConfiguration file and sets the options that correspond to its fields. It adds
// a warning for each field that has no effect on this agent. usesCRI decides from the settings whether fields
// for a CRI runtime have an effect.
func (o *options) applyConfigFile(flags flagSet, path string, usesCRI func(settings []fieldSetting) bool) error {
	text, err := readFileAtMost(path, maxConfigSize)
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err // The caller names the path.
	}
	if err != nil {
		return fmt.Errorf("--config %q: %w", path, err)
	}
	parsed, err := parseKubeletConfig(text)
	if err != nil {
		return prefixLines("--config "+path, err)
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
			s.value = filepath.Join(filepath.Dir(path), s.value) // As the kubelet does.
		}
		if err := flags.flagWithNameOrAlias(s.flag).set(s.value); err != nil {
			faults = append(faults, fmt.Errorf("--config %s: line %d: %s %q: %w", path, s.line, s.field, strings.TrimSpace(s.value), err))
		}
		o.setFlags[s.flag] = flagSource{s.value, s.field, s.line}
	}
	return errors.Join(faults...)
}

// dashedFlagOrConfigLine returns the name of a flag with its dashes, for messages. If the configuration file
// has set the flag, it returns the file, the line and the field instead.
func (o *options) dashedFlagOrConfigLine(flag string) string {
	if at := o.setFlags[flag]; at.line > 0 {
		return fmt.Sprintf("--config %s: line %d: %s", o.config, at.line, at.name)
	}
	return dashedName(flag)
}

// noEffectErrorOrWarn returns an error that a flag has no effect without another flag. If a field of the
// configuration file set the flag, it adds a warning and returns nil, because a kubelet may read the same file.
func (o *options) noEffectErrorOrWarn(flag, without string) error {
	at := o.setFlags[flag]
	if at.line == 0 {
		return fmt.Errorf("%s has no effect without %s", dashedName(flag), without)
	}
	o.warnings = append(o.warnings, fmt.Sprintf("%s: line %d: %s has no effect without %s", o.config, at.line, at.name, without))
	return nil
}

// reloadableFlags are the flags that can change while the agent runs.
var reloadableFlags = []string{"manifests", "manifest-period", "manifest-url", "manifest-url-header", "manifest-url-period"}

// changedFlags compares two configurations. reloadable lists the changed flags that a running agent can apply.
// needRestart names the other changed flags or fields.
func changedFlags(before, after map[string]flagSource) (reloadable, needRestart []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, flag := range slices.Sorted(maps.Keys(all)) {
		switch {
		case before[flag].value == after[flag].value && (before[flag].name == "") == (after[flag].name == ""):
		case slices.Contains(reloadableFlags, flag):
			reloadable = append(reloadable, flag)
		default:
			needRestart = append(needRestart, cmp.Or(after[flag].name, before[flag].name))
		}
	}
	return reloadable, needRestart
}

// logConfigWarnings logs each of the warnings, which name fields of the configuration file that have no effect.
func (a *agent) logConfigWarnings(warnings []string) {
	for _, warning := range warnings {
		a.log.Warn("a field of the configuration file has no effect on this agent", "field", warning)
	}
}

// reloadConfig reads the configuration file again, and replaces the manifest sources whose flags have changed.
// It logs each other change as needing a restart. If the file is faulty, it logs the faults and changes
// nothing.
func (a *agent) reloadConfig() {
	next, err := parseAgentOptions(a.args)
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			a.log.Error("cannot read the configuration; nothing was changed", "fault", line)
		}
		return
	}
	a.logConfigWarnings(next.warnings)
	hot, cold := changedFlags(a.setFlags, next.setFlags)
	for _, field := range cold {
		a.log.Warn("a change of the configuration needs a restart of the agent", "field", field)
	}
	if err := a.replaceChangedSources(&next, hot); err != nil {
		a.log.Error("cannot use the configuration; nothing was changed", "err", err)
		return
	}
	for _, flag := range reloadableFlags {
		delete(a.setFlags, flag)
		if s, ok := next.setFlags[flag]; ok {
			a.setFlags[flag] = s
		}
	}
	a.log.Info("the configuration was read again", "changed", len(hot), "restart", len(cold))
}

// reloadOnSIGHUP starts a goroutine that reloads the configuration file at each SIGHUP, after two reads of the
// file were equal. The returned function stops the goroutine. Without a configuration file it does nothing, so
// that SIGHUP still terminates the process.
func (a *agent) reloadOnSIGHUP(ctx context.Context) (stop func()) {
	if a.config == "" {
		return func() {}
	}
	ctx, end := context.WithCancel(ctx)
	hangups, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer close(over)
		read := func() string {
			text, _ := readFileAtMost(a.config, maxConfigSize) // The parser reports the error.
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
				if rereadUntilStable(read, pause) {
					a.reloadConfig()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { signal.Stop(hangups); end(); <-over }
}

const (
	// writePeriod is how long a file must stay unchanged to count as complete. maxRereads is how often it may change
	// before it is read anyway.
	writePeriod = 200 * time.Millisecond
	maxRereads  = 25
)

// rereadUntilStable reads a file until two reads in a row are equal, because half a file may be valid too. It
// calls pause between the reads. It returns false only if pause returns false. After maxRereads reads that all
// differ it returns true.
func rereadUntilStable(read func() string, pause func() bool) (finished bool) {
	before := read()
	for range maxRereads {
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

// replaceChangedSources creates the file source and the URL source again from the latest options. It replaces a
// source only if a flag of that source has changed. The node name, the state directory and the objects keep
// their old values. After an error it replaces nothing.
func (a *agent) replaceChangedSources(latest *options, changed []string) error {
	web := func(flag string) bool { return strings.HasPrefix(flag, "manifest-url") }
	next := a.options
	next.manifests, next.filePeriod = latest.manifests, latest.filePeriod
	next.manifestURL, next.urlHeader, next.urlPeriod = latest.manifestURL, latest.urlHeader, latest.urlPeriod
	files, err := next.newManifestOrExampleSource(a.log)
	if err != nil {
		return err
	}
	server, err := next.newURLSource(a.log)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(changed, func(flag string) bool { return !web(flag) }) {
		a.files.replaceCurrent(files)
	}
	if slices.ContainsFunc(changed, web) {
		a.web.replaceCurrent(server)
	}
	return nil
}
