package pleg

import (
	"fmt"
	"time"
)

// Healthy implements Generator.
func (p *PLEG) Healthy() (bool, error) {
	now := p.executor.Now()
	p.mu.Lock()
	rhythm := p.mu.rhythm
	p.mu.Unlock()
	return rhythm.healthy(now, p.cfg.RelistThreshold)
}

// healthy judges by the age of the last success (B-174). What keeps the next
// one from coming is part of the error.
func (r *rhythm) healthy(now time.Time, threshold time.Duration) (bool, error) {
	age := now.Sub(r.succeeded)
	if !r.succeeded.IsZero() && age <= threshold {
		return true, nil
	}
	stage := "no listing has begun since"
	switch {
	case r.listing:
		stage = fmt.Sprintf("a listing has been under way for %v", now.Sub(r.began))
	case !r.ended.IsZero():
		stage = fmt.Sprintf("a listing ended %v ago", now.Sub(r.ended))
	}
	if r.succeeded.IsZero() {
		return false, withCause(fmt.Sprintf("pleg: no listing has succeeded yet; %s", stage), r.err)
	}
	return false, withCause(fmt.Sprintf("pleg: the last listing that succeeded began %v ago, threshold is %v; %s", age, threshold, stage), r.err)
}

func withCause(sentence string, cause error) error {
	if cause == nil {
		return fmt.Errorf("%s", sentence)
	}
	return fmt.Errorf("%s: %w", sentence, cause)
}
