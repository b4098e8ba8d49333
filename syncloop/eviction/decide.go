package eviction

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Defaults of a Policy.
const (
	// DefaultPeriod is the time between two passes.
	DefaultPeriod = 10 * time.Second
	// DefaultTransitionPeriod is how long a condition stays after its last met threshold.
	DefaultTransitionPeriod = 5 * time.Minute
	// DefaultMaxAge is the age at which a measurement is too old.
	DefaultMaxAge = 30 * time.Second
)

const (
	// MinGraceSeconds is the grace period of a hard eviction, and the smallest one.
	MinGraceSeconds int64 = 1
	// VictimTimeout is how long passes wait until a victim has stopped and its volumes and cgroup are removed. Then
	// they evict another pod. The kubelet waits as long.
	VictimTimeout = 30 * time.Second
)

// Policy is the configuration of evictions. The zero value has no thresholds and enforces limits of local storage.
type Policy struct {
	// Thresholds are the thresholds of the node, with at most one hard and one soft threshold for each signal.
	Thresholds []Threshold
	// TransitionPeriod is how long a condition stays after its last met threshold. Zero is DefaultTransitionPeriod.
	TransitionPeriod time.Duration
	// MaxPodGraceSeconds limits the grace period of a soft eviction. Zero kills after MinGraceSeconds, as a kubelet
	// does by default. Negative is no limit: the pod has its own grace period.
	MaxPodGraceSeconds int64
	// IgnoreLocalLimits turns off evictions for limits of local storage.
	IgnoreLocalLimits bool
	// Period is the time between two passes. Zero is DefaultPeriod.
	Period time.Duration
	// MaxAge is the age at which a measurement evicts nothing. Zero is DefaultMaxAge.
	MaxAge time.Duration
}

// Observation is a measured value of a signal.
type Observation struct {
	Available, Capacity int64
	// Time is when the value was measured.
	Time time.Time
}

// Observations are the measurements of one pass. A signal that could not be measured is absent.
type Observations struct {
	Signals map[Signal]Observation
	Layout  Layout
}

// Decision is the result of a pass.
type Decision struct {
	// Conditions are the pressure conditions that the node has: memory, disk, process IDs.
	Conditions []v1.NodeConditionType
	// Unobserved lists signals with a threshold that have had no new measurement for MaxAge.
	Unobserved []Signal
	// Acting is the threshold for which the pass reclaims, evicts, or finds no pod to evict. It is nil if no
	// threshold acts, or if the pass waits for a pod to stop.
	Acting *Threshold
	// Reclaim has what the caller removes, in this order, before it measures again and starts the next pass at
	// once. Errors of the removal do not matter. If it is not empty, Victims is empty.
	Reclaim []ReclaimKind
	// Victims are the pods to evict.
	Victims []Victim
	// NextHistory is passed to the next pass.
	NextHistory History
	// NextAt is when the next pass is due at the latest. It is also due when a victim has stopped.
	NextAt time.Time
}

// Victim is a pod to evict.
type Victim struct {
	UID types.UID
	// GraceSeconds is the grace period of the termination. A terminating pod then stops earlier.
	GraceSeconds int64
	// Message is the message of the status and of the event; the reason of both is Reason.
	Message string
	// Annotations are the annotations of the event. Nil for a limit of local storage.
	Annotations map[string]string
	// Condition is the pod condition DisruptionTarget. Nil for a limit of local storage.
	Condition *v1.PodCondition
	// Cause is the signal, or one of the Cause constants. Metrics count victims by it.
	Cause string
	// Shortens: the pod terminates already, and only its grace period becomes shorter.
	Shortens bool
	// StatsAge is how old the measurement of the signal was. Zero for a limit of local storage.
	StatsAge time.Duration
}

// Causes of evictions for limits of local storage.
const (
	// CauseEmptyDirLimit is the size limit of an emptyDir.
	CauseEmptyDirLimit = "emptydirfs.limit"
	// CausePodLimit is the ephemeral-storage limit of all containers of a pod together.
	CausePodLimit = "ephemeralpodfs.limit"
	// CauseContainerLimit is the ephemeral-storage limit of one container.
	CauseContainerLimit = "ephemeralcontainerfs.limit"
)

// Decide decides one pass. pods are all pods of the node whose containers have not stopped, or whose volumes and cgroup
// are not removed (Pod.Stopped). The caller must list them before it measures the signals: then a victim that is absent
// from the list no longer counts in the measurements. Decide changes none of its arguments.
func (p Policy) Decide(h History, o Observations, pods []Pod, now time.Time) Decision {
	p.setDefaults()
	s := pass{policy: p, last: h, next: h.clone(), observed: o, pods: pods, now: now}
	if s.next.firstAt.IsZero() {
		s.next.firstAt = now
	}
	s.decision.NextAt = now.Add(p.Period)
	s.findUnobservedSignals()
	acting := s.findActingThresholds()
	s.forgetReclaims()
	s.setConditions()
	if !s.evictPodsOverLocalLimits() && !s.waitsForVictim(acting) && len(acting) > 0 {
		s.decideReclaimThenEviction(acting[0])
	}
	if len(s.decision.Reclaim) == 0 {
		s.next.reclaimedFor = ""
	}
	s.decision.NextHistory = s.next
	return s.decision
}

// setDefaults sets the defaults of the policy.
func (p *Policy) setDefaults() {
	setDefault(&p.Period, DefaultPeriod)
	setDefault(&p.TransitionPeriod, DefaultTransitionPeriod)
	setDefault(&p.MaxAge, DefaultMaxAge)
}

// setDefault sets a duration that is not above 0.
func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}

// pass is one pass in progress.
type pass struct {
	policy     Policy
	last, next History
	observed   Observations
	pods       []Pod
	now        time.Time
	decision   Decision
}

// freshObservation returns the measurement of a signal. It returns false if the measurement is missing or too old.
func (s *pass) freshObservation(signal Signal) (Observation, bool) {
	o, ok := s.observed.Signals[signal]
	return o, ok && s.now.Sub(o.Time) < s.policy.MaxAge
}

// wakeAt makes the next pass due at t, if that is after now and earlier than it is due otherwise.
func (s *pass) wakeAt(t time.Time) {
	if t.After(s.now) && t.Before(s.decision.NextAt) {
		s.decision.NextAt = t
	}
}

// findUnobservedSignals sets Decision.Unobserved, and stores the times of the measurements. (EV-12, EV-34)
func (s *pass) findUnobservedSignals() {
	for _, t := range s.policy.Thresholds {
		if o, ok := s.observed.Signals[t.Signal]; ok && o.Time.After(s.next.observedAt[t.Signal]) {
			s.next.observedAt[t.Signal] = o.Time
		}
		since := s.next.observedAt[t.Signal]
		if since.IsZero() {
			since = s.next.firstAt
		}
		if s.now.Sub(since) >= s.policy.MaxAge && !slices.Contains(s.decision.Unobserved, t.Signal) {
			s.decision.Unobserved = append(s.decision.Unobserved, t.Signal)
		}
	}
	slices.SortFunc(s.decision.Unobserved, func(a, b Signal) int { return a.decisionOrder() - b.decisionOrder() })
}

// findActingThresholds returns the met thresholds whose grace period has passed and whose signal has a new
// measurement. Hard thresholds come first. Thresholds of the same kind follow signalOrder. It stores for each met
// threshold since when it is met. A threshold that has acted stays met until the signal has also recovered by the
// minimum reclaim. If a signal has no usable measurement, its thresholds stay as in the previous decision and do
// not act.
func (s *pass) findActingThresholds() (acting []Threshold) {
	for _, t := range s.policy.Thresholds {
		o, observed := s.freshObservation(t.Signal)
		since, wasMet := s.last.metSince[t.historyKeyWithoutValue()]
		if observed && !t.isMet(o, false) && (!s.last.acted[t.historyKeyWithoutValue()] || !t.isMet(o, true)) {
			delete(s.next.metSince, t.historyKeyWithoutValue())
			delete(s.next.acted, t.historyKeyWithoutValue())
			continue
		}
		if !observed && !wasMet {
			continue
		}
		if !wasMet {
			since = s.now
		}
		s.next.metSince[t.historyKeyWithoutValue()] = since
		s.next.pressureAt[t.Signal.Condition()] = s.now
		if !observed {
			continue
		}
		if s.now.Sub(since) < t.Grace {
			s.wakeAt(since.Add(t.Grace))
			continue
		}
		s.next.acted[t.historyKeyWithoutValue()] = true
		if o.Time.After(s.last.observedAt[t.Signal]) {
			acting = append(acting, t)
		}
	}
	slices.SortStableFunc(acting, compareThresholds)
	return acting
}

// setConditions sets the conditions whose thresholds were met within the transition period. (EV-15)
func (s *pass) setConditions() {
	for _, c := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		at, ok := s.next.pressureAt[c]
		switch end := at.Add(s.policy.TransitionPeriod); {
		case !ok:
		case s.now.Before(end):
			s.decision.Conditions = append(s.decision.Conditions, c)
			s.wakeAt(end)
		default:
			delete(s.next.pressureAt, c)
		}
	}
}

// waitsForVictim reports whether the pass must evict no pod for pressure, because the last victim still
// uses resources: it has not stopped, or its volumes or cgroup are not removed.
// If the victim was evicted for a soft threshold and a hard one acts now, the victim's grace period is shortened
// instead. The wait ends after VictimTimeout.
func (s *pass) waitsForVictim(acting []Threshold) bool {
	v := s.last.victim
	i := slices.IndexFunc(s.pods, func(p Pod) bool { return p.pod.UID == v.uid })
	if v.uid == "" || i < 0 || !s.now.Before(v.until) {
		s.next.victim = lastVictim{}
		return false
	}
	if v.soft && len(acting) > 0 && !acting[0].IsSoft() && s.judgeCandidate(acting[0], &s.pods[i]) == evictCandidate {
		s.setOnlyVictimForPressure(acting[0], &s.pods[i])
		return true
	}
	s.wakeAt(v.until)
	return true
}

// decideReclaimThenEviction decides what to do for one threshold. If shouldReclaim returns true, it decides to
// reclaim. If not, it decides to evict the first pod in the ranking that may be evicted. It evicts no pod if a pod
// that ranks before is about to stop, or if no pod may be evicted.
func (s *pass) decideReclaimThenEviction(t Threshold) {
	kinds := reclaimKinds(t.Signal, s.observed.Layout)
	if should, delay := s.shouldReclaim(t, kinds); should {
		s.recordReclaim(t, kinds, delay)
		return
	}
	for _, i := range Rank(t.Signal, s.observed.Layout, s.pods) {
		p := &s.pods[i]
		switch s.judgeCandidate(t, p) {
		case evictCandidate:
			s.setOnlyVictimForPressure(t, p)
			return
		case awaitCandidate:
			return
		}
	}
	s.decision.Acting = &t
}

// candidateVerdict is what a pass does with the first pod of the rest of the ranking.
type candidateVerdict uint8

const (
	skipCandidate candidateVerdict = iota
	evictCandidate
	awaitCandidate // evict no pod in this pass, because this one stops soon
)

// judgeCandidate decides about a ranked pod. A hard threshold shortens the grace period of a terminating pod. A pod
// that terminates as fast as the threshold allows is awaited for VictimTimeout after its grace period. (EV-22, EV-26)
func (s *pass) judgeCandidate(t Threshold, p *Pod) candidateVerdict {
	switch {
	case p.isCritical:
		return skipCandidate
	case !p.Terminating && !p.Stopped:
		return evictCandidate
	case !t.IsSoft() && s.canShorten(p, MinGraceSeconds):
		return evictCandidate
	case p.StopBy.IsZero(), p.StopBy.After(s.now.Add(VictimTimeout)), !s.now.Before(p.StopBy.Add(VictimTimeout)):
		return skipCandidate
	}
	return awaitCandidate
}

// canShorten reports whether a terminating pod would stop at least a second earlier with this grace period. It
// returns false for a pod whose containers have stopped.
func (s *pass) canShorten(p *Pod, graceSeconds int64) bool {
	if p.Stopped {
		return false
	}
	return p.StopBy.IsZero() || p.StopBy.Sub(s.now) > time.Duration(graceSeconds+1)*time.Second
}

// setOnlyVictimForPressure makes a pod the only victim of the pass and the threshold the acting one. It also
// stores the pod as the last victim, for which later passes wait until VictimTimeout.
func (s *pass) setOnlyVictimForPressure(t Threshold, p *Pod) {
	v := Victim{UID: p.pod.UID, GraceSeconds: s.policy.graceSeconds(t, p), Cause: string(t.Signal), Shortens: p.Terminating}
	o := s.observed.Signals[t.Signal]
	v.StatsAge = max(s.now.Sub(o.Time), 0)
	v.Message, v.Annotations = pressureMessage(t, o, p)
	v.Condition = &v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: v.Message,
	}
	s.decision.Acting, s.decision.Victims = &t, []Victim{v}
	s.next.victim = lastVictim{uid: v.UID, soft: t.IsSoft(), until: s.now.Add(VictimTimeout)}
}

// graceSeconds returns the grace period of an eviction. For a hard threshold it is MinGraceSeconds. For a soft
// threshold it is the grace period of the pod, limited to MaxPodGraceSeconds and not less than MinGraceSeconds. A
// negative MaxPodGraceSeconds means neither limit: the result is the grace period of the pod. (EV-23)
func (p Policy) graceSeconds(t Threshold, pod *Pod) int64 {
	switch {
	case !t.IsSoft():
		return MinGraceSeconds
	case p.MaxPodGraceSeconds < 0:
		return pod.graceSeconds()
	}
	return max(min(pod.graceSeconds(), p.MaxPodGraceSeconds), MinGraceSeconds)
}
