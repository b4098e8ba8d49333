package core

import "module.test/core/internal/deep"

// Config shows types that nobody else can name.
type Config struct {
	Queue queue // hidden
	Known queue // listed
	Names []Name
	own   queue
}

type queue interface{ Add() }

// Name can be named.
type Name string

// Depth is an alias of something internal.
type Depth = deep.Depth

// Put takes a hidden type in a func.
func Put(f func(q queue) Name) {}

// Names is fine: a field may be called as a hidden type is.
func Names(queue Name) {}

// Get is a method that returns something hidden.
func (Config) Get() (*queue, error) { return nil, nil }

func put(q queue) {}
