//go:build race

package models

func init() { underRace = true }
