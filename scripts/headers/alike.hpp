// Whether functions and structs that are declared here by hand are like those of NVIDIA's headers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

// Types are alike that have one size and kind, and so has what they point to, unless it is
// nothing in particular. A handle or address of ours, which is a number, may be a pointer of theirs.
template <class Ours, class Theirs> constexpr bool alike() {
	using O = std::remove_cv_t<std::remove_pointer_t<Ours>>;
	using T = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
	if constexpr (std::is_same_v<Ours, uintptr_t>)
		return sizeof(Ours) == sizeof(Theirs) && !std::is_floating_point_v<Theirs>;
	else if constexpr (std::is_pointer_v<Ours> != std::is_pointer_v<Theirs>)
		return false;
	else if constexpr (!std::is_pointer_v<Ours>)
		return sizeof(O) == sizeof(T) && std::is_floating_point_v<O> == std::is_floating_point_v<T>;
	else if constexpr (std::is_void_v<O> || std::is_void_v<T>)
		return std::is_void_v<O> && std::is_void_v<T>;
	else
		return alike<O, T>();
}

template <class Mine, class... Ours, class Result, class... Theirs> constexpr bool match(Mine (*)(Ours...), Result (*)(Theirs...)) {
	if constexpr (sizeof...(Ours) == sizeof...(Theirs))
		return alike<Mine, Result>() && (alike<Ours, Theirs>() && ...);
	return false;
}

#define FIELD(ours, field, theirs, part) \
	static_assert(offsetof(ours, field) == offsetof(theirs, part) && sizeof(ours::field) == sizeof(theirs::part), #field);
#define NUMBER(ours, theirs) static_assert(int(ours) == int(theirs), #theirs);
#define MATCH(result, name, params) static_assert(match((result(*) params)nullptr, (decltype(&::name))nullptr), #name);
