// Says whether two declarations of one C function can be called interchangeably, and two structs read interchangeably.
#pragma once

#include <cstddef>
#include <type_traits>

namespace abi {

template <typename T>
concept Complete = requires { sizeof(T); };

// What the calling convention distinguishes, besides the size.
enum class Kind { nothing, pointer, integer, floating, record };

template <typename T>
constexpr Kind kind() {
    if constexpr (std::is_void_v<T>) return Kind::nothing;
    if constexpr (std::is_pointer_v<T>) return Kind::pointer;
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return Kind::integer;
    if constexpr (std::is_floating_point_v<T>) return Kind::floating;
    return Kind::record;
}

// True if a value of one type can be passed, or pointed to, as the other. A pointer is followed to what it points to;
// `void` and functions stand for anything there, opaque handles for one another.
template <typename Ours, typename Theirs>
constexpr bool same() {
    using A = std::remove_cv_t<Ours>;
    using B = std::remove_cv_t<Theirs>;
    if constexpr (kind<A>() != kind<B>()) {
        return false;
    } else if constexpr (std::is_void_v<A>) {
        return true;
    } else if constexpr (std::is_pointer_v<A>) {
        using PointeeA = std::remove_pointer_t<A>;
        using PointeeB = std::remove_pointer_t<B>;
        if constexpr (std::is_function_v<PointeeA> || std::is_function_v<PointeeB>) {
            return std::is_function_v<PointeeA> && std::is_function_v<PointeeB>;
        } else {
            return std::is_void_v<PointeeA> || std::is_void_v<PointeeB> || same<PointeeA, PointeeB>();
        }
    } else if constexpr (Complete<A> && Complete<B>) {
        return sizeof(A) == sizeof(B) && alignof(A) == alignof(B);
    } else {
        return !Complete<A> && !Complete<B>;
    }
}

template <typename Ours, typename Theirs>
struct Callable : std::false_type {};

template <typename R1, typename... P1, typename R2, typename... P2>
    requires(sizeof...(P1) == sizeof...(P2))
struct Callable<R1 (*)(P1...), R2 (*)(P2...)> : std::bool_constant<same<R1, R2>() && (same<P1, P2>() && ...)> {};

// The trait itself tells apart what must be told apart.
struct OpaqueA;
struct OpaqueB;
static_assert(Callable<int (*)(OpaqueA*, const char*), int (*)(OpaqueB*, char*)>::value);
static_assert(!Callable<int (*)(int), int (*)(int, int)>::value);
static_assert(!Callable<int (*)(int), int (*)(long)>::value);
static_assert(!Callable<int (*)(int*), int (*)(long*)>::value);
static_assert(!Callable<int (*)(float), int (*)(int)>::value);
static_assert(!Callable<int (*)(int), void (*)(int)>::value);
static_assert(!Callable<int (*)(OpaqueA*), int (*)(OpaqueA**)>::value);

}  // namespace abi

// `function` of the table in `Api` stands for the vendor's `symbol`.
#define EXPECT_CALLABLE(Api, function, symbol)                                                 \
    static_assert(abi::Callable<decltype(Api::function)::Pointer, decltype(&::symbol)>::value, \
                  #function " is not declared as the vendor declares " #symbol)

#define EXPECT_VALUE(ours, theirs) \
    static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #ours " is not " #theirs)

#define EXPECT_MEMBER(Ours, our_member, Theirs, their_member)                     \
    static_assert(offsetof(Ours, our_member) == offsetof(Theirs, their_member) && \
                      sizeof(Ours::our_member) == sizeof(Theirs::their_member),   \
                  #Ours "::" #our_member " is not where " #Theirs "::" #their_member " is")
